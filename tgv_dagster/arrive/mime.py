"""The splitter of the mail gate: `split(raw) -> Mail` (MAIL-29, MAIL-58 to MAIL-61, MAIL-64).

Belongs here: putting the walk, the roles and the text together into one Mail in which every
leaf stands exactly once. Does not belong here: storing, rules, triage, or trust; a signature
around a leaf is reported as "not verified", and names are data, never paths.

What a caller may rely on: `split` raises on no input. If it cannot take a mail apart, the Mail
has one leaf with the whole input, role "unopened", and a defect that says why.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from tgv_dagster.arrive.mime_charsets import decode
from tgv_dagster.arrive.mime_model import (
    CONTAINER_ROLES,
    DOCUMENT_ROLES,
    PARKING_ROLES,
    Address,
    Defect,
    DefectKind,
    Header,
    Leaf,
    Limits,
    Mail,
    MailHeaders,
    Role,
    SignatureState,
    safe_name,
)
from tgv_dagster.arrive.mime_roles import assign_roles, body_text
from tgv_dagster.arrive.mime_walk import Draft, Place, Slice, walk
from tgv_dagster.arrive.mime_wire import looks_like_mail

__all__ = [
    "CONTAINER_ROLES",
    "DOCUMENT_ROLES",
    "PARKING_ROLES",
    "Address",
    "Defect",
    "DefectKind",
    "Header",
    "Leaf",
    "Limits",
    "Mail",
    "MailHeaders",
    "Role",
    "SignatureState",
    "leaf_text",
    "looks_like_mail",
    "safe_name",
    "split",
    "unread_text",
]

DEFAULT_LIMITS = Limits()


def split(raw: bytes, limits: Limits = DEFAULT_LIMITS) -> Mail:
    """Take a mail apart into leaves with roles.

    Args:
        raw: the bytes as fetched or dropped; they are not changed.
        limits: bounds of depth, number and size; what lies beyond stays as unopened leaves.
    """
    try:
        return _split(raw, limits)
    except Exception as error:  # noqa: BLE001 - a poison mail is parked whole, the run goes on
        detail = f"{type(error).__name__}: {error}"[:200]
        return _unsplit(raw, Defect(DefectKind.SPLITTER_FAILED, "", detail))


def leaf_text(leaf: Leaf) -> str:
    """The content of a text leaf by its charset, without ever raising; "" for no bytes."""
    return decode(leaf.view, leaf.charset).text


def unread_text(mail: Mail) -> str:
    """Why the text of a mail's own body is not all that was written; "" when it is."""
    reasons = {
        DefectKind.BODY_TEXT_TRUNCATED: "the text is longer than what is read",
        DefectKind.TEXT_UNCERTAIN: "the text is in an encoding that it does not tell",
    }
    found = {defect.kind for defect in mail.defects if not _is_embedded(mail, defect.path)}
    return "; ".join(reason for kind, reason in reasons.items() if kind in found)


def _is_embedded(mail: Mail, path: str) -> bool:
    return any(leaf.path == path and leaf.mail_path for leaf in mail.leaves)


def _split(raw: bytes, limits: Limits) -> Mail:
    walked = walk(raw, limits)
    assign_roles(walked.drafts)
    text, text_defects = body_text(walked.drafts, "", limits)
    return Mail(
        headers=walked.headers,
        body_text=text,
        leaves=tuple(_leaf(draft, index) for index, draft in enumerate(walked.drafts)),
        defects=walked.defects + text_defects,
        size=len(raw),
    )


def _leaf(draft: Draft, index: int) -> Leaf:
    place = draft.place
    return Leaf(
        path=place.path,
        index=index,
        role=draft.role or Role.ATTACHMENT,
        filename=draft.filename,
        raw_name=draft.raw_name,
        media_type=draft.media_type,
        sniffed_type=draft.sniffed_type,
        charset=draft.charset,
        sha256=draft.sha256,
        size=len(draft.data),
        content_id=draft.content_id,
        disposition=draft.disposition,
        parent_path=place.parent_path,
        mail_path=place.mail_path,
        signature=place.signature,
        mail_headers=draft.mail_headers,
        view=draft.view,
    )


def _unsplit(raw: bytes, defect: Defect) -> Mail:
    digest = hashlib.sha256(raw).hexdigest()
    name = f"part-{digest[:12]}.eml"
    draft = Draft(Place(), Slice.whole(raw), name, None, "application/octet-stream")
    draft.role = Role.UNOPENED
    leaf = replace(_leaf(draft, 0), sha256=digest)
    return Mail(MailHeaders(), "", (leaf,), (defect,), len(raw))
