"""The type that typed.py asks for: fourteen fields, nested, some optional, described as people describe them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

PROMPT = "Take down this order: Ada Lovelace, two teapots and a kettle, to London, as a gift, before Friday."


class Address(BaseModel):
    """Where something is sent."""

    street: str
    city: str
    country: str = Field(description="ISO 3166-1 alpha-2")
    postcode: str | None = None


class Customer(BaseModel):
    """Who ordered."""

    name: str
    email: str | None = Field(None, description="only if it was said")
    address: Address


class Item(BaseModel):
    """One line of an order."""

    product: str = Field(description="the name in the catalogue")
    count: int = Field(ge=1)
    price: float | None = Field(None, description="for one piece, in euros")
    tags: list[str] = []


class Order(BaseModel):
    """An order as it was taken down."""

    customer: Customer
    items: list[Item]
    deliver_to: Address | None = Field(None, description="if it is not the customer's address")
    bill_to: Address | None = None
    status: Literal["open", "paid", "sent"]
    is_gift: bool
    message: str | None = Field(None, description="the words on the card")
    due: str = Field(description="the day, as YYYY-MM-DD")
    priority: int = Field(3, ge=1, le=5)
    discount: float | None = None
    currency: Literal["EUR", "GBP", "USD"] = "EUR"
    notes: list[str] = []
    source: str = Field(description="who wrote or called, and how")
    total: float | None = Field(None, description="only if it was said")


_ADDRESS = {"street": "St James's Square 12", "city": "London", "country": "GB"}
ANSWER = {
    "customer": {"name": "Ada Lovelace", "address": _ADDRESS},
    "items": [{"product": "teapot", "count": 2}, {"product": "kettle", "count": 1}],
    "status": "open",
    "is_gift": True,
    "due": "2026-11-20",
    "source": "the user",
}
