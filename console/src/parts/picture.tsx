import { contentPath, isPlayable, type VideoRow } from '../videos.ts'

/** A still of a video, which plays under the pointer. A link beside it has the name, and the keyboard. */
export function Picture({ row, seesAll }: { row: VideoRow; seesAll: boolean }) {
  if (!isPlayable(row)) return <span className="picture" data-status={row.status} />
  return (
    <video
      className="picture"
      muted
      loop
      playsInline
      preload="none"
      aria-hidden="true"
      tabIndex={-1}
      poster={contentPath(row.id, seesAll, 'thumbnail')}
      src={contentPath(row.id, seesAll)}
      onMouseEnter={({ currentTarget }) => void currentTarget.play().catch(() => {})}
      onMouseLeave={({ currentTarget }) => currentTarget.load()}
    />
  )
}
