"""One installation, opened: settings, database, blob store, and what reads and indexes.

The doors (console, Dagster, HTTP) open it once and hand its parts to plain functions. Heavy parts
(the embedding model, the extraction workers) start only when somebody asks for them.
"""

from __future__ import annotations

import logging
from functools import cached_property
from typing import TYPE_CHECKING, Self

from tgv_dagster.arrive import mail_access
from tgv_dagster.know.spaces import (
    Endpoint,
    active_embedder,
    embedder_of,
    ensure_spaces,
    space_named,
)
from tgv_dagster.settings import Settings, SettingsError
from tgv_dagster.store import migrate, organisation, tuning
from tgv_dagster.store.blobs import BlobStore, StoreOptions, resolve
from tgv_dagster.store.db import Database, product_url
from tgv_dagster.store.remote import HostRefused, host_list, require_allowed_host
from tgv_dagster.store.scope import Scope

if TYPE_CHECKING:
    from tgv_dagster.know.embeddings import Embedder
    from tgv_dagster.know.words import WordIndex
    from tgv_dagster.understand.chat_model import ChatModel
    from tgv_dagster.understand.workers import ExtractionPool

logger = logging.getLogger(__name__)


class Installation:
    """Everything a plain function may need, opened from one `Settings`."""

    def __init__(self, settings: Settings, database: Database, blobs: BlobStore) -> None:
        self.settings = settings
        self.database = database
        self.blobs = blobs

    @classmethod
    def open(cls, settings: Settings) -> Self:
        """Open the installation: start the database, bring its schema and rights up to date.

        Imports `TGV_ORGANISATION` when that is set. Raises the typed errors of the store, each
        with its remedy, and SettingsError for a model provider that is not on the list.
        """
        require_allowed_providers(settings)
        settings.home.mkdir(parents=True, exist_ok=True)
        url = product_url(settings)
        migrate.upgrade(url)
        database = Database(url)
        blobs = resolve(
            settings.blob_target,
            region=settings.blob_region or None,
            options=StoreOptions(create=not _has_blobs(database)),
        )
        ensure_spaces(database)
        with database.worker() as connection:
            organisation.ensure_service_principal(connection)
            tuning.seed(connection)
            mail_access.say_rhythm(connection, settings)
            if settings.organisation is not None:
                organisation.import_organisation(
                    connection,
                    organisation.load(settings.organisation),
                    author=organisation.SERVICE_LOGIN,
                )
        return cls(settings, database, blobs)

    def close(self) -> None:
        """Stop the workers and close the connections; the embedded server keeps running."""
        for name in ("extraction", "chat_model"):
            part = self.__dict__.pop(name, None)
            if part is not None:
                part.close()
        self.database.close()

    @cached_property
    def extraction(self) -> ExtractionPool:
        """The pool of reader processes."""
        from tgv_dagster.understand.workers import ExtractionPool

        return ExtractionPool(workers=self.settings.workers)

    @property
    def embedder(self) -> Embedder:
        """The model of the vector space that is active now."""
        return active_embedder(self.database, self._endpoint())

    def embedder_for(self, space_id: str) -> Embedder:
        """The model of a registered space. Raises as `spaces.embedder_of`."""
        with self.database.worker() as connection:
            space = space_named(connection, space_id)
        return embedder_of(self.database, space, self._endpoint())

    def _endpoint(self) -> Endpoint | None:
        settings = self.settings
        if settings.embedding_url is None:
            return None
        return Endpoint(
            base_url=settings.embedding_url,
            allowed_hosts=host_list(settings.eu_hosts),
            api_key=settings.embedding_key,
            euro_per_million=settings.embedding_euro_per_million,
        )

    @cached_property
    def chat_model(self) -> ChatModel | None:
        """The chat model per role; None when no endpoint or no role is configured."""
        from tgv_dagster.understand.chat_model import ChatModel, ChatSettings, ModelRole

        settings = self.settings
        named = {
            ModelRole.TRIAGE: settings.model_triage,
            ModelRole.SPECIALIST: settings.model_specialist,
            ModelRole.SPECIALIST_STRONG: settings.model_specialist_strong,
        }
        models = {role: name for role, name in named.items() if name}
        if settings.model_url is None or not models:
            return None
        return ChatModel(
            ChatSettings(
                base_url=settings.model_url,
                models=models,
                allowed_hosts=host_list(settings.eu_hosts),
                api_key=settings.model_key,
                timeout_seconds=settings.model_timeout_seconds,
                euro_per_million_input=settings.model_euro_per_million_input,
                euro_per_million_output=settings.model_euro_per_million_output,
            )
        )

    @cached_property
    def words(self) -> WordIndex:
        """The word index of this installation, built from the chunks when there is none."""
        from tgv_dagster.know.wording import open_words

        return open_words(self.database, self.settings.index_path)

    def service_scope(self, *, source: str, include_test: bool = False) -> Scope:
        """The scope of the named service principal (console and jobs)."""
        return Scope.for_principal(
            self.database,
            organisation.SERVICE_LOGIN,
            source=source,
            include_test=include_test,
        )


def require_allowed_providers(settings: Settings) -> None:
    """Refuse to start with a provider outside the list (architecture §8). Raises SettingsError."""
    for variable, url in (
        ("TGV_MODEL_URL", settings.model_url),
        ("TGV_EMBEDDING_URL", settings.embedding_url),
    ):
        if url is None:
            continue
        try:
            require_allowed_host(url, host_list(settings.eu_hosts))
        except HostRefused as refused:
            raise SettingsError(
                f"{variable}: {refused}. Set a provider in the Union, add its host to TGV_EU_HOSTS,"
                f" or unset {variable}."
            ) from refused


def _has_blobs(database: Database) -> bool:
    """With rows there must be a store: a missing one is an unmounted volume, not a new start."""
    with database.worker() as connection:
        row = connection.execute("SELECT EXISTS (SELECT 1 FROM raw_items)").fetchone()
    return bool(row and row[0])
