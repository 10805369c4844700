"""Mail files as text: the head a reader sees and the body; attachments are kept beside it.

Here: RFC 5322 files and mailboxes as the mail room splits them. Not here: the splitting
(`arrive.mime`), Outlook items (`outlook`), and mails that come by the mail gate.
"""

from pathlib import Path

from tgv_dagster.arrive.decoding import clean_text
from tgv_dagster.arrive.filetype import FileType
from tgv_dagster.arrive.mime import (
    DOCUMENT_ROLES,
    PARKING_ROLES,
    Mail,
    MailHeaders,
    Role,
    split,
    unread_text,
)
from tgv_dagster.understand.extracted import (
    Embedded,
    EmbeddedRole,
    Extraction,
    ExtractionSettings,
    Facts,
    Method,
    PageText,
    ReaderError,
    Status,
)
from tgv_dagster.understand.readers.embedding import keep, refused

_MOST_BYTES = 192 * 2**20
_KEPT = DOCUMENT_ROLES | {Role.EMBEDDED_MAIL}


def read(source: Path, file_type: FileType, settings: ExtractionSettings) -> Extraction:
    """Read a mail file. Raises ReaderError when it is larger than a mail can be."""
    if source.stat().st_size > _MOST_BYTES:
        raise ReaderError(f"the mail is larger than {_MOST_BYTES} bytes")
    mail = split(source.read_bytes())
    text = "\n".join(_head(mail.headers)) + "\n\n" + mail.body_text
    unread = mail.with_role(*PARKING_ROLES)
    parts = f"{len(unread)} parts of the mail cannot be opened" if unread else ""
    reason = "; ".join(one for one in (parts, unread_text(mail)) if one)
    return Extraction(
        Status.TRUNCATED if reason else Status.COMPLETE,
        reason,
        pages=(PageText(1, clean_text(text).strip(), Method.NATIVE),),
        engine="mail",
        embedded=_attachments(mail, settings),
        facts=Facts(
            title=clean_text(mail.headers.subject or ""),
            author=", ".join(address.address for address in mail.headers.from_),
            created=mail.headers.date.isoformat() if mail.headers.date else "",
        ),
    )


def _head(headers: MailHeaders) -> list[str]:
    told = [
        (label, ", ".join(f"{a.name} <{a.address}>".strip() for a in addresses))
        for label, addresses in (("From", headers.from_), ("To", headers.to), ("Cc", headers.cc))
    ]
    told += [("Date", headers.date_raw or ""), ("Subject", headers.subject or "")]
    return [f"{label}: {value}" for label, value in told if value]


def _attachments(mail: Mail, settings: ExtractionSettings) -> tuple[Embedded, ...]:
    """Parts of the mail itself; what lies in an attached mail belongs to that one."""
    kept = [
        keep(leaf.filename, leaf.content, EmbeddedRole.ATTACHMENT, settings)
        for leaf in mail.with_role(*_KEPT)
        if not leaf.mail_path
    ]
    kept += (
        refused(leaf.filename, EmbeddedRole.ATTACHMENT, leaf.size, f"part is {leaf.role}")
        for leaf in mail.with_role(*PARKING_ROLES)
        if not leaf.mail_path
    )
    return tuple(kept)
