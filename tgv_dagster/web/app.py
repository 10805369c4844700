"""The application: one router per room, one shape of errors, limits and headers for all.

Belongs here: putting the parts together and serving them. Does not belong here: any route.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

import uvicorn
from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles
from uvicorn.config import LOGGING_CONFIG

from tgv_dagster.installation import Installation
from tgv_dagster.know.vectors import VectorSizes
from tgv_dagster.web import (
    arrive,
    artefacts,
    audit,
    chain,
    clarify,
    deadline_pages,
    deadlines,
    documents,
    drop_pages,
    effect,
    errors,
    filing,
    health,
    inbox_pages,
    know,
    learning,
    legacy,
    login,
    mail,
    organisation,
    pages,
    previews,
    search_pages,
    settings_pages,
    threshold_pages,
    thresholds,
    unmatched_pages,
)
from tgv_dagster.web.health import Probes
from tgv_dagster.web.limits import BodyLimit, SafetyHeaders
from tgv_dagster.web.sign_on import provider_of
from tgv_dagster.web.throttle import Throttle

MEBIBYTE = 1 << 20
GRACE_SECONDS = 20

ROUTERS = (
    health.router,
    arrive.router,
    mail.router,
    clarify.router,
    learning.router,
    thresholds.router,
    filing.router,
    deadlines.router,
    documents.router,
    artefacts.router,
    legacy.router,
    organisation.router,
    know.router,
    effect.router,
    audit.router,
    chain.router,
    login.router,
    drop_pages.router,
    search_pages.router,
    previews.router,
    inbox_pages.router,
    deadline_pages.router,
    unmatched_pages.router,
    settings_pages.router,
    threshold_pages.router,
)

TAGS = [
    {"name": "health", "description": "Is the service there; no token needed."},
    {"name": "arrive", "description": "Hand files over, and what became of them."},
    {"name": "mail", "description": "The intake mailbox, and mails handed over as files."},
    {"name": "clarify", "description": "Cases that need a person."},
    {"name": "deadlines", "description": "Days of contracts that must not be missed."},
    {"name": "documents", "description": "Documents, their originals and their pages."},
    {"name": "organisation", "description": "Who you are and what you may assign."},
    {"name": "know", "description": "Ask the knowledge base."},
    {"name": "effect", "description": "Where everything stands."},
    {"name": "audit", "description": "The checkpoints; for the owner of the installation."},
]


def create_app(installation: Installation) -> FastAPI:
    """The service over an open installation, which stays its caller's to close."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.probes = Probes.of(installation)
        yield
        app.state.probes.close()

    app = FastAPI(
        title="TGV Dagster",
        summary="Document intake: hand over once, find again.",
        version=version("tgv-dagster"),
        openapi_tags=TAGS,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        # A span would carry the address of a request, and with it what somebody searched for.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.installation = installation
    app.state.vector_sizes = VectorSizes(installation.database)
    app.state.throttle = Throttle()
    app.state.provider = provider_of(installation.settings)
    for router in ROUTERS:
        app.include_router(router)
    app.mount("/static", StaticFiles(directory=pages.STATIC), name="static")
    errors.install(app)
    upload_bytes = installation.settings.max_upload_mb * MEBIBYTE
    app.add_middleware(
        BodyLimit, routes={arrive.UPLOAD_PATH: upload_bytes, mail.DROP_PATH: upload_bytes}
    )
    app.add_middleware(SafetyHeaders)
    return app


def server_config(installation: Installation, *, host: str, port: int) -> uvicorn.Config:
    """How the service is served. Addresses of requests stand in no log: they may hold questions."""
    loggers = LOGGING_CONFIG["loggers"] | {"uvicorn.access": {"handlers": [], "level": "CRITICAL"}}
    return uvicorn.Config(
        create_app(installation),
        host=host,
        port=port,
        access_log=False,
        log_config=LOGGING_CONFIG | {"loggers": loggers},
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


def serve(installation: Installation) -> None:
    """Serve until the process is told to stop; on this machine only unless TGV_HTTP_HOST is set."""
    settings = installation.settings
    uvicorn.Server(
        server_config(installation, host=settings.http_host, port=settings.http_port)
    ).run()
