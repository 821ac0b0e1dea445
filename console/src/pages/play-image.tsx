import { useEffect, useId, useState } from 'react'
import type { ModelRow } from '../models.ts'
import type { Draft } from '../playground.ts'
import { useText } from '../text.tsx'

const types = ['image/png', 'image/jpeg', 'image/webp']

interface ImageDropProps {
  chosen: readonly ModelRow[]
  draft: Draft
  onChange(image: File | null): void
}

/** A zone for an image, to drop it on or to click. The field of the browser covers it, and does both. */
export function ImageDrop({ chosen, draft: { image, original }, onChange }: ImageDropProps) {
  const t = useText()
  const id = useId()
  const [isOver, setOver] = useState(false)
  const [isWrong, setWrong] = useState(false)
  const refusing = chosen.filter((model) => model.image === 'none').map(({ id: model }) => model)
  const isOff = original !== null || (refusing.length > 0 && image === null)
  const take = (file: File | undefined) => {
    setOver(false)
    if (!file) return
    const isKnown = types.includes(file.type)
    setWrong(!isKnown)
    if (isKnown) onChange(file)
  }
  const hint = original
    ? t('play.asOriginal')
    : refusing.length > 0
      ? t('play.obstacle.imageRefused', { models: refusing.join(', ') })
      : isWrong
        ? t('play.imageType')
        : t('play.imageHint')
  return (
    <div className="field">
      <label htmlFor={id}>{t('model.image')}</label>
      <div className="drop" data-over={isOver || undefined} data-off={isOff || undefined}>
        {image && !original && <Preview image={image} />}
        <span id={`${id}-hint`} className={isWrong ? 'wrong' : 'quiet'} role="status">
          {image && !original && refusing.length === 0 && !isWrong ? image.name : hint}
        </span>
        <input
          // A new field is empty: the same file can be chosen again.
          key={image ? 'full' : 'empty'}
          id={id}
          type="file"
          accept={types.join(',')}
          disabled={isOff}
          aria-describedby={`${id}-hint`}
          onDragEnter={() => setOver(true)}
          onDragLeave={() => setOver(false)}
          onChange={({ target }) => take(target.files?.[0])}
        />
      </div>
      {image && !original && (
        <button type="button" onClick={() => onChange(null)}>
          {t('play.removeImage')}
        </button>
      )}
    </div>
  )
}

function Preview({ image }: { image: File }) {
  const [url, setUrl] = useState<string | null>(null)
  useEffect(() => {
    const made = URL.createObjectURL(image)
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [image])
  return url === null ? null : <img src={url} alt={image.name} />
}
