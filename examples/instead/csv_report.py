"""Writes a report about a table of sales: totals by region or product, and what stands out."""

import argparse
import csv
import sys
from collections import defaultdict
from pathlib import Path

from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from pydantic_ai import Agent


class Sale(BaseModel):
    date: str
    region: str
    product: str
    units: int
    price: float


class Report(BaseModel):
    headline: str = Field(description="the most important finding, in one sentence")
    findings: list[str] = Field(description="up to three more, each in one sentence with numbers")


Sales = TypeAdapter(list[Sale])
reporter = Agent("openai:gpt-5-mini", output_type=Report)


def revenue(sales: list[Sale]) -> float:
    return sum(sale.units * sale.price for sale in sales)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", required=True, help="a CSV file with date, region, product, units and price")
    parser.add_argument("--by", choices=["region", "product"], default="region", help="what to add up by")
    parser.add_argument("--out", type=Path, default=Path("report.md"), help="where the report goes")
    args = parser.parse_args()

    try:
        with open(args.file, encoding="utf-8", newline="") as file:
            sales = Sales.validate_python(list(csv.DictReader(file)))
    except (OSError, ValidationError) as error:
        sys.exit(f"{args.file}: {error}")
    if not sales:
        sys.exit(f"there are no sales in {args.file}")

    groups: dict[str, list[Sale]] = defaultdict(list)
    for sale in sales:
        groups[getattr(sale, args.by)].append(sale)
    table = f"| {args.by} | units | revenue | share |\n|---|--:|--:|--:|\n"
    for name, group in sorted(groups.items(), key=lambda item: -revenue(item[1])):
        units = sum(sale.units for sale in group)
        share = 100 * revenue(group) / revenue(sales)
        table += f"| {name} | {units} | {revenue(group):.2f} | {share:.1f} % |\n"

    rows = Sales.dump_json(sales).decode()
    report = reporter.run_sync(f"What stands out in these sales?\n\n{table}\nAll of them:\n{rows}").output
    findings = "\n".join(f"- {each}" for each in report.findings)
    args.out.write_text(f"# {report.headline}\n\n{table}\n{findings}\n", encoding="utf-8")
    print(f"{args.out}: {len(sales)} sales, {revenue(sales):.2f} in all")


if __name__ == "__main__":
    main()
