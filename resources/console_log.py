"""What runs print: warnings only. Dagster keeps every event anyway, and logs stay short."""

import logging

import dagster as dg


@dg.logger(
    {
        "log_level": dg.Field(str, is_required=False, default_value="WARNING"),
        "name": dg.Field(str, is_required=False, default_value="dagster"),
    }
)
def console_logger(context: dg.InitLoggerContext) -> logging.Logger:
    """Dagster's own console logger with a quieter default."""
    return dg.colored_console_logger.logger_fn(context)
