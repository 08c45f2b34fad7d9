def upper(word: str) -> str:
    return word.upper()
