import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { testBucket } from './contract.ts'
import { openDisk } from './disk.ts'
import { assertDurable, type DiskEvent, watchDisk } from './disk-watch.fixture.ts'

const folder = mkdtempSync(join(tmpdir(), 'filmgate-disk-'))
after(() => rmSync(folder, { recursive: true }))

testBucket('disk', {
  open: () => openDisk({ folder }),
  wipe: async () => rmSync(folder, { recursive: true, force: true }),
})

it('an object that is put is on disk, and so is each directory that leads to it', async () => {
  const root = join(folder, 'durable')
  const bucket = await openDisk({ folder: root })
  const events: DiskEvent[] = []
  {
    using _ = watchDisk((event) => events.push(event))
    const chunks = [Buffer.from('first '), Buffer.from('last')]
    await bucket.put('video_1/video.1.mp4', chunks, new AbortController().signal)
  }
  assertDurable(events, join(root, bucket.path?.('video_1/video.1.mp4') ?? ''), root)
})

it('so is a file that is adopted', async () => {
  const root = join(folder, 'adopting')
  const bucket = await openDisk({ folder: root })
  const file = join(root, 'film')
  const events: DiskEvent[] = []
  {
    using _ = watchDisk((event) => events.push(event))
    writeFileSync(file, 'a film')
    await bucket.adopt?.(file, { key: 'video_1/video.1.mp4', bytes: 6, sha256: '' })
  }
  assertDurable(events, join(root, bucket.path?.('video_1/video.1.mp4') ?? ''), root)
})
