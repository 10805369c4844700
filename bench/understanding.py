"""Print the figures of understanding on the labelled set, as the tables of docs/evaluation.md."""

from __future__ import annotations

import sys

from tgv_dagster.deepen.evaluation import measure, run
from tgv_dagster.deepen.evaluation.papers import Part
from tgv_dagster.deepen.evaluation.sales import LANGUAGES


def main() -> None:
    """Measure the part named on the command line, `test` without one."""
    part = Part(sys.argv[1]) if len(sys.argv) > 1 else Part.TEST
    measured = run.evaluate(part)
    print(f"{part}: {len(measured.papers)} papers, {len(measured.decisions)} decisions")
    print(f"silently wrong of stated: {measure.silent_wrong(measured.decisions)}")
    print(f"clarified, clean half: {measure.clarified(measured, nasty=False)}")
    print(f"clarified, nasty half: {measure.clarified(measured, nasty=True)}")
    print("\n| Field | decisions | right | silently wrong | asked | left open |")
    print("|---|---|---|---|---|---|")
    for row in measure.figures(measured.decisions):
        print(
            f"| {row.field} | {row.decisions} | {row.right.share:.1%} | {row.silent_wrong} |"
            f" {row.asked.events} | {row.left_open.events} |"
        )
    print("\n| Language | decisions | right | silently wrong of stated |")
    print("|---|---|---|---|")
    for language in LANGUAGES:
        chosen = [d for d in measured.decisions if d.language == language]
        right = sum(d.judged is measure.Judged.RIGHT for d in chosen) / len(chosen)
        print(f"| {language} | {len(chosen)} | {right:.1%} | {measure.silent_wrong(chosen)} |")
    bins = measure.reliability(measured.decisions)
    print("\n| Stated confidence | values | right |")
    print("|---|---|---|")
    for bar in bins:
        print(f"| {bar.confidence:.3f} | {bar.right.trials} | {bar.right.share:.2%} |")
    print(f"\nexpected calibration error: {measure.expected_error(bins):.4f}")


if __name__ == "__main__":
    main()
