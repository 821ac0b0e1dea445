import base64
import pathlib

import derived
import openai
from program import (
    FILM,
    IMAGE,
    check,
    check_refused,
    check_video,
    client,
    connect,
    create,
    download,
    equal,
    finish,
    keep,
    made,
    source,
)

UNKNOWN = {"code": "video_not_found", "param": "video_id"}


def check_all():
    check_create()
    check_idempotency()
    check_poll()
    check_retrieve()
    check_content()
    derived.check_all()
    check_list()
    check_delete()


def create_from(image_url):
    """The SDK takes nothing but files for an image; this is how its users send an object."""
    return keep(client.videos.create(**FILM, extra_body={"input_reference": {"image_url": image_url}}))


def check_create():
    @check("videos.create, text")
    def _():
        check_video(create())
        check_video(create(model="sora-2"), model="sora-2")

    @check("videos.create, file")
    def _():
        path = pathlib.Path(IMAGE)
        for reference in (path, ("reference.png", path.read_bytes(), "image/png")):
            video = create(input_reference=reference)
            check_video(video)
            equal(finish(video).status, "completed")

    @check("videos.create, object")
    def _():
        data = base64.b64encode(pathlib.Path(IMAGE).read_bytes()).decode()
        video = create_from(f"data:image/png;base64,{data}")
        check_video(video)
        equal(finish(video).status, "completed")

    @check("videos.create, a wrong length")
    def _():
        refusal = {"code": "invalid_value", "param": "seconds"}
        check_refused(lambda: create(seconds="99"), openai.BadRequestError, 400, **refusal)

    @check("videos.create, a wrong key")
    def _():
        wrong = connect("wrong").videos.create
        refusal = {"code": "invalid_api_key", "param": None}
        check_refused(lambda: wrong(**FILM), openai.AuthenticationError, 401, **refusal)


def check_idempotency():
    once = {"Idempotency-Key": "once and only once"}

    @check("videos.create, same Idempotency-Key")
    def _():
        first = create(once)
        equal(create(once).id, first.id)
        assert create({"Idempotency-Key": "another"}).id != first.id

    @check("videos.create, same key for another video")
    def _():
        refusal = {"code": "idempotency_key_reused", "param": "Idempotency-Key"}
        check_refused(lambda: create(once, prompt="a harbour"), openai.UnprocessableEntityError, 422, **refusal)


def check_poll():
    @check("create and poll")
    def _():
        check_completed(keep(client.videos.create_and_poll(**FILM)))

    @check("poll")
    def _():
        check_completed(client.videos.poll(create().id, poll_interval_ms=100))


def check_completed(video):
    ends = {"completed_at": video.completed_at, "expires_at": video.expires_at}
    check_video(video, status="completed", progress=100, **ends)
    assert type(video.completed_at) is int and type(video.expires_at) is int, ends
    assert video.created_at <= video.completed_at < video.expires_at, ends


def check_retrieve():
    @check("videos.retrieve, completed")
    def _():
        check_completed(client.videos.retrieve(source().id))

    @check("videos.retrieve, failed")
    def _():
        video = finish(create_from("http://127.0.0.1:1/missing.png"))
        check_video(video, status="failed", progress=video.progress, error=video.error.to_dict())
        assert video.progress < 100
        equal(video.error.code, "image_unavailable")
        assert len(video.error.message) >= 10, video.error.message

    @check("videos.retrieve, unknown")
    def _():
        check_refused(lambda: client.videos.retrieve("video_none"), openai.NotFoundError, 404, **UNKNOWN)


def check_content():
    @check("videos.downloadContent")
    def _():
        content, kind = download(source().id)
        equal((kind, content[4:8]), ("video/mp4", b"ftyp"))

    @check("videos.downloadContent, thumbnail")
    def _():
        content, kind = download(source().id, variant="thumbnail")
        equal((kind, content[:4] + content[8:12]), ("image/webp", b"RIFFWEBP"))

    @check("videos.downloadContent, spritesheet")
    def _():
        content, kind = download(source().id, variant="spritesheet")
        equal((kind, content[:3]), ("image/jpeg", b"\xff\xd8\xff"))


def check_list():
    for row, order in {"videos.list, oldest first": "asc", "videos.list, newest first": "desc"}.items():

        @check(row)
        def _():
            ids = sorted(made, reverse=order == "desc")
            assert len(ids) > 4, ids
            first = client.videos.list(limit=2, order=order)
            pages = [[video.id for video in page.data] for page in first.iter_pages()]
            equal([video_id for page in pages for video_id in page], ids)
            assert all(len(page) == 2 for page in pages[:-1]), pages
            equal([video.id for video in client.videos.list(limit=2, order=order)], ids)


def check_delete():
    @check("videos.delete")
    def _():
        video = create()
        made.discard(video.id)
        deleted = client.videos.delete(video.id)
        equal(deleted.to_dict(), {"id": video.id, "object": "video.deleted", "deleted": True})
        check_refused(lambda: client.videos.retrieve(video.id), openai.NotFoundError, 404, **UNKNOWN)
