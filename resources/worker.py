"""The warm worker: a Celery application that executes runs inside its own process.

Started as `celery -A resources.worker worker --pool solo`. Because a run executes in this very
process, the installation, its reader processes and the embedding model stay loaded from one run
to the next. Broker and results live in the database of the Dagster instance.
"""

import os

from dagster_celery.make_app import make_app
from dagster_celery.tasks import create_execute_job_task, create_resume_job_task

from tgv_dagster.runs import STORAGE_VARIABLE, celery_settings

app = make_app(celery_settings(os.environ[STORAGE_VARIABLE]))
execute_job = create_execute_job_task(app)
resume_job = create_resume_job_task(app)
