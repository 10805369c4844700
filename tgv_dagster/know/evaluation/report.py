"""The results of an evaluation as Markdown tables (EVAL-29): a roll-up per model and kind.

Numbers and fixed names only; nothing of the text of a document. What does not belong here: running
a study (`run`) and pictures (`assets.evaluation`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tgv_dagster.know.evaluation.balancing import Balancing, Emptiness
from tgv_dagster.know.evaluation.chunk_sizes import QuestionRank, SizeResult
from tgv_dagster.know.evaluation.cross_lingual import CrossLingual
from tgv_dagster.know.evaluation.own import OwnResult
from tgv_dagster.know.evaluation.run import ModelResult


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(map(str, row))} |" for row in rows]
    return "\n".join(lines)


def _share(value: float) -> str:
    return f"{value:.2f}".removeprefix("0") if value < 1 else "1.00"


def cross_lingual_table(results: Sequence[CrossLingual]) -> str:
    """Per model and kind: pairs found in both languages, and the ranks of the other language."""
    head = (
        "model", "kind", "pairs", "same document", "R@1", "R@5", "MRR",
        "asked in its own language R@1", "mean cosine",
    )  # fmt: skip
    return table(
        head,
        (
            (
                result.space_id,
                kind.kind.name,
                kind.pairs,
                _share(kind.same_document),
                _share(kind.other.first),
                _share(kind.other.in_five),
                _share(kind.other.mrr),
                _share(kind.own.first),
                "–" if kind.similarity is None else _share(kind.similarity),
            )
            for result in results
            for kind in result.kinds
        ),
    )


def verdicts(results: Sequence[CrossLingual]) -> str:
    """One line per model."""
    return "\n".join(
        f"- `{result.space_id}`, {result.distractors:,} distractors: **{result.verdict}** –"
        f" {result.reason}"
        for result in results
    )


def balancing_table(results: Sequence[Balancing]) -> str:
    """Per model, join and class: gold first, among six, and MRR."""
    kinds = list(next(iter(results[0].joins.values())))
    head = ("model", "join", *(f"{kind} R@1 / gold@6 / MRR" for kind in kinds))
    return table(
        head,
        (
            (
                result.space_id,
                join,
                *(
                    f"{_share(q.first)} / {_share(q.in_six)} / {_share(q.mrr)}"
                    for q in (by_kind[kind] for kind in kinds)
                ),
            )
            for result in results
            for join, by_kind in result.joins.items()
        ),
    )


def emptiness_table(results: Sequence[Emptiness]) -> str:
    """Per model: the floor, what it keeps, and what a search says of nonsense below it."""
    head = (
        "model", "documents", "floor", "recall of real questions",
        "nonsense below the floor", "of these nothing shown", "only word hits, unverified",
        "unanswerable below the floor", "best nonsense",
    )  # fmt: skip
    return table(
        head,
        (
            (
                r.space_id,
                f"{r.windows:,}",
                f"{r.floor.value:.2f}",
                f"{_share(r.floor.recall)} of {r.floor.questions}",
                f"{_share(r.floor.empty)} of {r.floor.nonsense}",
                _share(r.empty),
                _share(r.only_unverified),
                f"{_share(r.floor.abstained)} of {len(r.best_unanswerable)}",
                f"{max(r.best_nonsense):.2f}",
            )
            for r in results
        ),
    )


def sizes_table(results: Sequence[SizeResult]) -> str:
    """Per setting and question: rank of the right document (of the disturber), by meaning alone."""
    names = [rank.id for rank in results[0].ranks]
    head = ("embedded", "size/overlap", "chunks", *names, "best real / nonsense")
    return table(
        head,
        (
            (
                "windows of 300" if r.window else "whole chunk",
                f"{r.size}/{r.overlap}",
                f"{r.chunks:,}",
                *(_rank(rank) for rank in r.ranks),
                f"{max(rank.score for rank in r.ranks):.2f} / {r.best_nonsense:.2f}",
            )
            for r in results
        ),
    )


def _rank(rank: QuestionRank) -> str:
    wrong_in_front = rank.disturber is not None and (
        rank.rank is None or rank.disturber < rank.rank
    )
    return f"{rank.rank or '–'} ({rank.disturber or '–'}{'!' if wrong_in_front else ''})"


def winners(results: Sequence[SizeResult]) -> str:
    """Per class and question: which of the smallest and the largest size stands better, windows and
    whole chunks apart, without overlap (EVAL-13)."""
    rows = []
    for windowed in (True, False):
        chosen = [r for r in results if r.overlap == 0 and (r.window is not None) is windowed]
        if not chosen:
            continue
        small, large = chosen[0], chosen[-1]
        for fine, coarse in zip(small.ranks, large.ranks, strict=True):
            a, b = fine.rank or 10**6, coarse.rank or 10**6
            better = "same" if a == b else (small.size if a < b else large.size)
            embedded = "windows of 300" if windowed else "whole chunk"
            rows.append(
                (embedded, fine.kind, fine.id, fine.rank or "–", coarse.rank or "–", better)
            )
    sizes = (results[0].size, results[-1].size)
    return table(
        ("embedded", "class", "question", *(f"rank at {size}" for size in sizes), "better"), rows
    )


def models_report(results: Sequence[ModelResult]) -> str:
    """Cross-lingual comparison, joins and floors of every model."""
    cross = [result.cross_lingual for result in results]
    return "\n\n".join(
        (
            "### The same question in two languages",
            cross_lingual_table(cross),
            verdicts(cross),
            f"### Rule A″ beside other joins ({results[0].balancing.distractors:,} near-duplicates"
            " inserted after the gold)",
            balancing_table([result.balancing for result in results]),
            "### Honest emptiness",
            emptiness_table([result.emptiness for result in results]),
        )
    )


def sizes_report(results: Sequence[SizeResult]) -> str:
    """The chunk-size study."""
    return "\n\n".join(
        ("### Chunk sizes", sizes_table(results), winners(results)),
    )


def own_report(result: OwnResult) -> str:
    """The own stock: quality by kind, and the floor with how to set it."""
    quality = table(
        ("kind", "questions", "R@1", "R@5", "gold@6", "MRR"),
        (
            (kind, q.questions, *map(_share, (q.first, q.in_five, q.in_six, q.mrr)))
            for kind, q in result.quality.items()
        ),
    )
    floor = result.floor
    if floor is None:
        said = (
            f"Only {result.found} questions have their document among the nearest: too few for a"
            " floor, which stays as it is."
        )
    else:
        said = (
            f"Floor {floor.value:.2f} keeps {floor.recall:.0%} of {floor.questions} questions and"
            f" leaves nothing of {floor.empty:.0%} of {floor.nonsense} nonsense questions. To set"
            f" it: tgv tuning set 'P_MIN_SCORE:{result.space_id}' {floor.value:.2f} --measured"
            f" 'own corpus, {floor.questions} questions'"
        )
    return f"{quality}\n\n{said}"
