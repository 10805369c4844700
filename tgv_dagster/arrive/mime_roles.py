"""Which leaf is what to its mail, by content and reference (issue 3, item 7).

Belongs here: the roles that need the whole mail in view, and the text of the body. Does not
belong here: opening anything (`mime_walk`). Content-Disposition alone decides nothing: a PDF is
an attachment however it is labelled, an image the HTML shows is part of the body.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from tgv_dagster.arrive.mime_charsets import decode
from tgv_dagster.arrive.mime_model import Defect, DefectKind, Limits, Role
from tgv_dagster.arrive.mime_text import References, html_references, html_text, rtf_text, unflowed
from tgv_dagster.arrive.mime_walk import Draft
from tgv_dagster.arrive.mime_wire import without_yenc

STUB_CHARACTERS = 250
STUB_RATIO = 8
MAX_STUB_LOOKS = 16
_HEAD = 256
_ARMOUR = b"-----BEGIN PGP MESSAGE-----"

_PLAIN_TYPES = frozenset({"text/plain", "text"})
_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_OTHER_TEXT_TYPES = frozenset({"text/enriched", "text/richtext", "application/rtf", "text/rtf"})
_BODY_TYPES = _PLAIN_TYPES | _HTML_TYPES | _OTHER_TEXT_TYPES
_CALENDAR_TYPES = frozenset({"text/calendar", "application/ics", "text/x-vcalendar"})
_REPORT_TYPES = frozenset(
    {"message/delivery-status", "message/disposition-notification", "message/feedback-report"}
    | {"message/global-delivery-status", "message/global-disposition-notification"}
    | {"message/global-headers", "text/rfc822-headers", "message/tracking-status"}
)
_SIGNATURE_TYPES = frozenset(
    {"application/pkcs7-signature", "application/x-pkcs7-signature", "application/pgp-signature"}
)
_DECORATION_TYPES = ("image/", "font/", "text/css")


def assign_roles(drafts: Sequence[Draft]) -> None:
    """Give every draft that has no role yet exactly one, mail by mail."""
    scopes: dict[str, list[Draft]] = defaultdict(list)
    for draft in drafts:
        scopes[draft.place.mail_path].append(draft)
    for scope in scopes.values():
        _assign_in_mail(scope)


def body_text(
    drafts: Sequence[Draft], mail_path: str, limits: Limits
) -> tuple[str, tuple[Defect, ...]]:
    """The text of the body leaves of one mail, in order, and what was wrong with it.

    A mail that is a report and nothing else says what that says.
    """
    own = [draft for draft in drafts if draft.place.mail_path == mail_path]
    text, defects = _text_of([one for one in own if one.role is Role.BODY], mail_path, limits)
    if text:
        return text, defects
    text, more = _text_of([one for one in own if one.role is Role.REPORT], mail_path, limits)
    return text, defects + more


def _text_of(
    drafts: Sequence[Draft], mail_path: str, limits: Limits
) -> tuple[str, tuple[Defect, ...]]:
    pieces: list[str] = []
    defects: list[Defect] = []
    room, html_room = limits.body_text, limits.html
    for draft in drafts:
        is_html = not _is_plain(draft)
        if room <= 0 or (is_html and html_room <= 0):
            detail = "from here on not read"
            defects.append(Defect(DefectKind.BODY_TEXT_TRUNCATED, draft.place.path, detail))
            break
        text, found = readable_text(draft, html_room)
        pieces.append(text.strip())
        defects.extend(found)
        room -= len(text)
        html_room -= len(draft.data) if is_html else 0
    whole = "\n\n".join(piece for piece in pieces if piece)
    if len(whole) > limits.body_text:
        detail = f"{len(whole)} characters"
        defects.append(Defect(DefectKind.BODY_TEXT_TRUNCATED, mail_path, detail))
    return whole[: limits.body_text], tuple(defects)


def readable_text(draft: Draft, html_limit: int) -> tuple[str, list[Defect]]:
    """One text leaf as plain text with line feeds; never raises."""
    path = draft.place.path
    if draft.media_type in ("application/rtf", "text/rtf"):
        rtf = rtf_text(bytes(draft.view))
        return rtf.text, [Defect(rtf.defect, path, rtf.detail)] if rtf.defect else []
    decoded = decode(without_yenc(bytes(draft.view)), draft.charset)
    defects: list[Defect] = []
    if not decoded.label_known:
        defects.append(Defect(DefectKind.UNKNOWN_CHARSET, path, (draft.charset or "")[:60]))
    elif not (decoded.as_labelled and decoded.lossless):
        detail = f"{draft.charset} read as {decoded.codec}"[:120]
        defects.append(Defect(DefectKind.CHARSET_MISMATCH, path, detail))
    if not (decoded.plausible and decoded.lossless):
        defects.append(Defect(DefectKind.TEXT_UNCERTAIN, path, f"read as {decoded.codec}"))
    text = decoded.text.replace("\0", "")
    if not _is_plain(draft):
        readable = html_text(text, html_limit)
        if readable.defect:
            defects.append(Defect(readable.defect, path, readable.detail))
        text = readable.text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return unflowed(text, draft.flowed) if draft.flowed else text, defects


def _is_plain(draft: Draft) -> bool:
    return draft.media_type in _PLAIN_TYPES or draft.role is Role.REPORT


def _assign_in_mail(scope: list[Draft]) -> None:
    open_drafts = [draft for draft in scope if draft.role is None]
    for draft in open_drafts:
        draft.role = _role_by_kind(draft)
    texts = [draft for draft in open_drafts if draft.role is None and _is_body_like(draft)]
    if not any(not draft.place.in_tnef for draft in texts):
        texts = _promoted(open_drafts) + texts
    _assign_texts(texts)
    references = _references(texts)
    for draft in open_drafts:
        if draft.role is None:
            shown = _is_shown(draft, references)
            draft.role = Role.INLINE_REFERENCED if shown else Role.ATTACHMENT


def _role_by_kind(draft: Draft) -> Role | None:
    place, kind = draft.place, draft.media_type
    if place.within == "encrypted":
        return Role.ENCRYPTED
    if place.within == "signed" and kind in _SIGNATURE_TYPES and place.position > 0:
        return Role.SIGNATURE
    if kind == "application/applefile" and place.within == "appledouble":
        return Role.COMPANION
    if kind in _REPORT_TYPES:
        return Role.REPORT
    if kind in _PLAIN_TYPES and bytes(draft.view[:_HEAD]).lstrip().startswith(_ARMOUR):
        return Role.ENCRYPTED
    if kind in _CALENDAR_TYPES or draft.sniffed_type == "text/calendar":
        return Role.CALENDAR
    return None


def _is_body_like(draft: Draft) -> bool:
    if draft.sniffed_type not in (None, "application/rtf"):
        return False
    if draft.place.in_tnef:
        return (
            draft.raw_name is None and draft.media_type in _BODY_TYPES and bool(draft.place.groups)
        )
    named = draft.raw_name is not None
    attached = draft.disposition == "attachment"
    if draft.place.groups and draft.media_type.startswith("text/"):
        return not (named and attached)
    if draft.media_type not in _PLAIN_TYPES | _HTML_TYPES | {"text/enriched", "text/richtext"}:
        return False
    only_part = draft.place.section == ""
    return not attached and (not named or only_part)


def _promoted(drafts: Iterable[Draft]) -> list[Draft]:
    """A mail whose only nameless text claims to be an attachment: it is the body."""
    for draft in drafts:
        nameless = draft.role is None and draft.raw_name is None and not draft.place.in_tnef
        if (
            nameless
            and draft.sniffed_type is None
            and draft.media_type in _PLAIN_TYPES | _HTML_TYPES
        ):
            return [draft]
    return []


def _assign_texts(texts: list[Draft]) -> None:
    best = _best_branches(texts)
    own_body = False
    for draft in sorted(texts, key=lambda one: one.place.in_tnef):
        chosen = all(best.get(group) == branch for group, branch in draft.place.groups)
        if draft.place.in_tnef and own_body:
            chosen = False
        draft.role = Role.BODY if chosen else Role.BODY_ALTERNATIVE
        if chosen and not draft.place.in_tnef and bytes(draft.view).strip():
            own_body = True


def _best_branches(texts: list[Draft]) -> dict[int, int]:
    """For each multipart/alternative the branch to read: plain text before HTML before other."""
    branches: dict[int, dict[int, list[Draft]]] = defaultdict(lambda: defaultdict(list))
    for draft in texts:
        for group, branch in draft.place.groups:
            branches[group][branch].append(draft)
    best: dict[int, int] = {}
    looked = 0
    for group, members in branches.items():
        by_kind = [
            branch
            for kind in (_PLAIN_TYPES, _HTML_TYPES, _BODY_TYPES)
            for branch, drafts in members.items()
            if any(draft.media_type in kind and _says_something(draft) for draft in drafts)
        ]
        best[group] = by_kind[0] if by_kind else min(members)
        html = [branch for branch in by_kind if _has(members[branch], _HTML_TYPES)]
        looked += bool(html)
        if html and looked <= MAX_STUB_LOOKS and _is_stub(members[best[group]], members[html[0]]):
            best[group] = html[0]
    return best


def _has(drafts: Iterable[Draft], kinds: frozenset[str]) -> bool:
    return any(draft.media_type in kinds for draft in drafts)


def _says_something(draft: Draft) -> bool:
    return bool(
        decode(bytes(draft.view[:4_096]), draft.charset).text.strip("\0 \t\r\n\u00a0\ufeff")
    )


def _is_stub(chosen: Iterable[Draft], html: Iterable[Draft]) -> bool:
    """A plain part that only says "see the HTML": short, and many times shorter than that."""
    plain = "".join(_short_text(draft) for draft in chosen if draft.media_type in _PLAIN_TYPES)
    if not plain or len(plain) > STUB_CHARACTERS:
        return False
    laid_out = sum(
        len(html_text(decode(draft.view, draft.charset).text, 200_000).text.strip())
        for draft in html
        if draft.media_type in _HTML_TYPES
    )
    return laid_out > STUB_RATIO * max(len(plain), 40)


def _short_text(draft: Draft) -> str:
    return decode(bytes(draft.view[: 8 * STUB_CHARACTERS]), draft.charset).text.strip()


def _references(texts: Iterable[Draft]) -> References:
    content_ids: set[str] = set()
    targets: set[str] = set()
    for draft in texts:
        if draft.media_type in _HTML_TYPES:
            found = html_references(decode(draft.view, draft.charset).text)
            content_ids |= found.content_ids
            targets |= found.targets
    return References(frozenset(content_ids), frozenset(targets))


def _is_shown(draft: Draft, references: References) -> bool:
    """Whether the HTML of this mail shows the leaf, and the leaf is decoration by content."""
    kind = draft.sniffed_type or draft.media_type
    if not kind.startswith(_DECORATION_TYPES):
        return False
    if draft.content_id and draft.content_id.lower() in references.content_ids:
        return True
    if draft.location and draft.location in references.targets:
        return True
    named = draft.raw_name is not None
    return named and (
        draft.filename in references.targets or draft.filename.lower() in references.content_ids
    )
