"""The official Python SDK. Endpoints first: what is made after that is told to them."""

import models
import videos
import webhooks

webhooks.register()
models.check_all()
videos.check_all()
webhooks.check_all()
