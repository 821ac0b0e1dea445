"""What all parts of this program share: the client, the verdicts, and the video that many rows start from."""

import functools
import json
import os
import re
import time
import warnings

import openai

# The SDK calls videos deprecated, for OpenAI's own service is.
warnings.simplefilter("ignore", DeprecationWarning)

RECEIVER = os.environ["RECEIVER"]
IMAGE = os.environ["IMAGE"]
FILM = {"prompt": "a lighthouse", "model": "studio", "seconds": "1", "size": "256x256"}


def connect(key=os.environ["TOKEN"]):
    """Without retries: a row that needs a second try has failed."""
    return openai.OpenAI(api_key=key, base_url=os.environ["BASE_URL"], max_retries=0)


client = connect()
made = set()
"""Every video that was made and not deleted."""


def report(row, **verdict):
    print(json.dumps({"row": row, **verdict}), flush=True)


def check(row):
    """Runs the function at once, and says how it went."""

    def run(act):
        try:
            act()
        except Exception as error:
            report(row, failure=f"{type(error).__name__}: {error}")
        else:
            report(row)

    return run


def equal(seen, expected):
    assert seen == expected and type(seen) is type(expected), f"{seen!r} is not {expected!r}"


def until(what, look):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if seen := look():
            return seen
        time.sleep(0.1)
    raise AssertionError(f"timed out: {what}")


def create(headers=None, **params):
    return keep(client.videos.create(**{**FILM, **params}, extra_headers=headers))


def keep(video):
    made.add(video.id)
    return video


def finish(video):
    def look():
        now = client.videos.retrieve(video.id)
        return now if now.status in ("completed", "failed") else None

    return until(f"{video.id} ends", look)


def download(video_id, **params):
    answer = client.videos.download_content(video_id, **params)
    equal(answer.response.headers["content-length"], str(len(answer.content)))
    return answer.content, answer.response.headers["content-type"]


@functools.cache
def source():
    """A completed video that many rows start from."""
    video = finish(create())
    equal(video.status, "completed")
    return video


NULLS = {"completed_at": None, "expires_at": None, "error": None, "remixed_from_video_id": None}


def check_video(video, **expected):
    """All of it, and nothing else but what Filmgate adds: what does not apply is null."""
    seen = json.loads(video.to_json(exclude_unset=True))
    for own in ("eta", "queue_position"):
        assert type(seen.pop(own, None) or 0) is int
    detail = seen["status_detail"]
    assert detail is None if seen["status"] in ("completed", "failed") else type(detail) is str, detail
    for own in ("output", "warnings", "metadata", "usage", "status_detail"):
        assert own in seen
        del seen[own]
    video_id, created_at = seen.pop("id"), seen.pop("created_at")
    assert re.fullmatch(r"video_[0-9a-f]{48}", video_id), video_id
    assert type(created_at) is int and abs(created_at - time.time()) < 120, created_at
    equal(seen, {"object": "video", **FILM, "status": "queued", "progress": 0, **NULLS, **expected})


def check_refused(act, kind, status, **fields):
    """It is refused, by the SDK's own class for that, with words for a reader."""
    try:
        act()
    except openai.APIStatusError as error:
        equal(type(error), kind)
        equal(error.status_code, status)
        for name, value in fields.items():
            equal(getattr(error, name), value)
        assert re.match(r"req_", error.request_id or ""), error.request_id
        assert len(error.body["message"]) >= 10, error.body
    else:
        raise AssertionError("it was not refused")
