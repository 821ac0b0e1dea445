import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import type { MultipartFile } from '@fastify/multipart'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Random } from '../core/clock.ts'
import type { FairTurns } from '../core/fair.ts'
import { Problem } from '../core/problem.ts'
import { maxVideoMiB } from '../core/source.ts'
import { type FormRules, readFields, Spooled } from './body.ts'
import { boundBodies, openBudget } from './budget.ts'
import { respellDerived } from './spellings.ts'

const maxVideoBytes = maxVideoMiB * 2 ** 20
/** The limit of all other fields of such a request, which are held in memory. */
const maxFieldBytes = 2 ** 20
/** The limit of all such files on the disk together. */
const totalBytes = 512 * 2 ** 20
const drainMs = 30_000

/**
 * The hooks of a route that accepts a video as a file. The file is written to `scratch` as it arrives, and removed when
 * the response is sent. The fields in memory and the files on the disk of all requests together are limited.
 */
export function spoolVideos({ scratch, random, turns }: { scratch: string; random: Random; turns: FairTurns }) {
  const files = new WeakMap<FastifyRequest, string[]>()
  const limits = { budget: openBudget(totalBytes), bytes: maxVideoBytes + maxFieldBytes, tooLarge }
  const bounds = boundBodies(limits)
  return {
    onRequest: (request: FastifyRequest, reply: FastifyReply) => drained(request, bounds.onRequest(request, reply)),
    bodyLimit: maxFieldBytes,
    async preValidation(request: FastifyRequest): Promise<void> {
      const kept: string[] = []
      files.set(request, kept)
      const keep = async (part: MultipartFile) => {
        if (part.fieldname !== 'video') throw unexpected(part.fieldname)
        const path = join(scratch, `upload.${Buffer.from(random(12)).toString('hex')}.mp4`)
        kept.push(path)
        await mkdir(scratch, { recursive: true })
        return new Spooled(path, await write(part, path))
      }
      // One byte more than is accepted, so that `write` notices it first.
      const rules: FormRules = { fieldBytes: maxFieldBytes, fileBytes: maxVideoBytes + 1, keep, tooLarge }
      request.body = respellDerived(await drained(request, readFields(request, turns, rules)), request)
    },
    async onSend(request: FastifyRequest): Promise<void> {
      for (const path of files.get(request) ?? []) await rm(path, { force: true })
    },
  }
}

/** Most clients read a response only after they have sent the whole body, so the rest is discarded for a while. */
async function drained<Result>({ raw }: FastifyRequest, reading: Promise<Result>): Promise<Result> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof Problem && error.code === 'body_too_large')
      await finished(raw.resume(), { signal: AbortSignal.timeout(drainMs) }).catch(() => {})
    throw error
  }
}

/** Writes the file and returns its digest. */
async function write(part: MultipartFile, path: string): Promise<string> {
  const digest = createHash('sha256')
  let bytes = 0
  const count = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      digest.update(chunk)
      if (bytes > maxVideoBytes) done(tooLarge())
      else done(null, chunk)
    },
  })
  await pipeline(part.file, count, createWriteStream(path))
  return digest.digest('hex')
}

function tooLarge(): Problem {
  return new Problem('body_too_large', `The request is too large: a video may have up to ${maxVideoMiB} MiB.`)
}

function unexpected(name: string): Problem {
  const param = name.slice(0, 100)
  return new Problem('unknown_parameter', `'${param}' is a file. This request accepts only 'video' as a file.`, {
    param,
  })
}
