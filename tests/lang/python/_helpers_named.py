def area(width: float, height: float = 1) -> float:
    return width * height
