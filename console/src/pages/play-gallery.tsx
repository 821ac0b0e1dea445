import { Link } from '@tanstack/react-router'
import type { Video } from '../../../src/wire/videos.ts'
import type { ModelRow } from '../models.ts'
import { Picture } from '../parts/picture.tsx'
import type { Use } from '../playground.ts'
import { useGallery } from '../playing.ts'
import { useText } from '../text.tsx'
import { fromVideo } from '../videos.ts'

interface GalleryProps {
  all: readonly ModelRow[]
  onUse(video: Video, use: Use): void
}

/** The newest videos, to look at and to begin with. If they can't be read, the rest of the page goes on. */
export function Gallery({ all, onUse }: GalleryProps) {
  const t = useText()
  const { data: { data: videos } = { data: [] } } = useGallery()
  if (videos.length === 0) return null
  return (
    <section>
      <h2>{t('play.gallery')}</h2>
      <ul className="gallery">
        {videos.map((video) => (
          <li key={video.id}>
            <Picture row={fromVideo(video)} seesAll={false} />
            <Link to="/videos/$id" params={{ id: video.id }} className="title">
              <bdi>{video.prompt}</bdi>
            </Link>
            <small className="quiet">
              <bdi>{video.model}</bdi>
            </small>
            {all.some(({ id }) => id === video.model) && (
              <button type="button" onClick={() => onUse(video, 'again')}>
                {t('play.use.again')}
              </button>
            )}
          </li>
        ))}
      </ul>
      <p>
        <Link to="/videos">{t('videos.showAll')}</Link>
      </p>
    </section>
  )
}
