"""Videos that are made of videos."""

import openai
from program import check, check_refused, check_video, client, download, equal, finish, keep, source


def check_all():
    @check("videos.remix")
    def _():
        video = keep(client.videos.remix(source().id, prompt="a lighthouse at night"))
        check_video(video, prompt="a lighthouse at night", remixed_from_video_id=source().id)
        check_film(video)

    @check("videos.edit, by id")
    def _():
        video = keep(client.videos.edit(prompt="in the rain", video=openai.omit, extra_body=reference()))
        check_video(video, prompt="in the rain", remixed_from_video_id=source().id)
        check_film(video)

    @check("videos.edit, by file")
    def _():
        content, kind = download(source().id)
        video = keep(client.videos.edit(prompt="in the snow", video=("film.mp4", content, kind)))
        # Nothing but the file says what it is made of: the model is the usual one.
        check_video(video, prompt="in the snow", model="sora-2")
        check_film(video)

    @check("videos.extend, by id")
    def _():
        extend = client.videos.extend
        video = keep(extend(prompt="the sun rises", seconds="4", video=openai.omit, extra_body=reference()))
        check_video(video, prompt="the sun rises", seconds="5")
        check_film(video)

    @check("videos.createCharacter")
    def _():
        content, kind = download(source().id)
        create = client.videos.create_character
        check_refused(lambda: create(name="Fox", video=("film.mp4", content, kind)), openai.BadRequestError, 400)

    @check("videos.getCharacter")
    def _():
        check_refused(lambda: client.videos.get_character("char_1"), openai.BadRequestError, 400)


def reference():
    """The SDK takes nothing but files for a video; this is how its users name one."""
    return {"video": {"id": source().id}}


def check_film(video):
    end = finish(video)
    equal((end.status, end.error), ("completed", None))
    equal((end.seconds, end.size), (video.seconds, video.size))
    equal(download(video.id)[0][4:8], b"ftyp")
