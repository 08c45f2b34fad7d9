from threading import Barrier

_met = Barrier(2)


def meet(name: str) -> str:
    """Comes back once it was called twice at the same time."""
    _met.wait(60)
    return name
