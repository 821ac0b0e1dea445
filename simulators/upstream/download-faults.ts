import { gzipSync } from 'node:zlib'
import { type Answer, html, json, type Silence } from './answer.ts'
import type { Fault } from './faults.ts'
import { failing, silences } from './spoilt.ts'

export interface DownloadFault extends Fault {
  answer(film: Uint8Array, path: string): Answer | Silence
}

type Shape = [name: string, description: string, answer: DownloadFault['answer']]

const mp4 = { 'content-type': 'video/mp4' }
const ok = (body: Uint8Array, more: Omit<Answer, 'status' | 'body'> = {}): Answer => ({
  status: 200,
  headers: mp4,
  body,
  ...more,
})
const half = (film: Uint8Array) => film.subarray(0, film.length / 2)

const shapes: Shape[] = [
  ...[403, 404, 410, 401, 429, 500, 503].map(
    (status): Shape => [
      `${status}`,
      status === 403 || status === 410 ? `the link has expired: ${status}` : `answers ${status}`,
      () => failing(status),
    ],
  ),
  ...silences.map(({ name, description }): Shape => [name, description, () => name]),
  ['truncated', 'the first half of the film, of an honest length', (film) => ok(half(film))],
  [
    'length-too-long',
    'the whole film, but Content-Length promises more, and the connection closes',
    (film) => ok(film, { length: film.length + 100, ending: 'close' }),
  ],
  [
    'length-too-short',
    'the whole film, but Content-Length promises less',
    (film) => ok(film, { length: film.length - 100, ending: 'close' }),
  ],
  [
    'cut',
    'half of the film, then the connection closes',
    (film) => ok(half(film), { length: film.length, ending: 'close' }),
  ],
  [
    'cut-chunks',
    'half of the film in chunks, and no last chunk',
    (film) => ok(half(film), { length: 'none', ending: 'close' }),
  ],
  [
    'reset-in-body',
    'half of the film, then a reset',
    (film) => ok(half(film), { length: film.length, ending: 'reset' }),
  ],
  ['hang-in-body', 'half of the film, then nothing', (film) => ok(half(film), { length: film.length, ending: 'hang' })],
  ['drip', 'the film, a byte at a time', (film) => ok(film, { ending: 'drip' })],
  ['endless', 'the film and then spaces for ever', (film) => ok(film, { length: 'none', ending: 'endless' })],
  ['empty', 'a film of 0 bytes', () => ok(new Uint8Array())],
  ['html', 'an HTML page that is called a film', () => ({ ...html(200, 'This link has expired'), headers: mp4 })],
  ['json', 'a JSON object in place of the film', () => json(200, { error: 'gone' })],
  ['damaged', 'a film with zeros where its pictures are', (film) => ok(damaged(film))],
  [
    'gzip',
    'the film, compressed though nobody asked for it',
    (film) => ok(gzipSync(film), { headers: { ...mp4, 'content-encoding': 'gzip' } }),
  ],
  ['redirect-to-itself', 'redirects to itself', (_film, path) => json(302, {}, { location: path })],
  ['ignores-range', 'the whole film, whatever range was asked for', (film) => ok(film)],
]

export const downloadFaults: readonly DownloadFault[] = shapes.map(([name, description, answer]) => ({
  name: `download-${name}`,
  accepted: true,
  description,
  answer,
}))

function damaged(film: Uint8Array): Uint8Array {
  return Uint8Array.from(film).fill(0, Buffer.from(film).indexOf('mdat') + 4)
}
