import { useState } from 'react'
import { sidesOf } from '../models.ts'
import { useText } from '../text.tsx'

interface PlayerProps {
  src: string
  poster: string
  size: string
  /** Read aloud in place of the picture. */
  label: string
  /** Plays without sound as soon as it is shown, unless the reader prefers less motion. */
  startsAtOnce?: boolean
}

/** A video in its own shape: the page does not jump when it is loaded. */
export function Player({ src, poster, size, label, startsAtOnce = false }: PlayerProps) {
  const t = useText()
  const { width, height } = sidesOf(size)
  const [tries, setTries] = useState(0)
  const [hasFailed, setFailed] = useState(false)
  const starts = startsAtOnce && !matchMedia('(prefers-reduced-motion: reduce)').matches
  return (
    <figure className="player">
      <video
        key={tries}
        onError={() => setFailed(true)}
        src={src}
        poster={poster}
        width={width}
        height={height}
        aria-label={label}
        controls
        loop
        autoPlay={starts}
        muted={starts}
        playsInline
        preload="metadata"
      />
      {hasFailed && (
        <p className="notice mild" role="status">
          {t('player.failed')}{' '}
          <button
            type="button"
            onClick={() => {
              setFailed(false)
              setTries(tries + 1)
            }}
          >
            {t('broken.again')}
          </button>
        </p>
      )}
      <Download src={src} />
    </figure>
  )
}

export function Download({ src }: { src: string }) {
  const t = useText()
  return (
    <figcaption>
      <a href={src} download>
        {t('player.download')}
      </a>
    </figcaption>
  )
}
