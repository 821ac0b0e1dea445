import { ark } from './ark.ts'
import { fal } from './fal.ts'
import { google } from './google.ts'
import { kling } from './kling.ts'
import { openai } from './openai.ts'
import type { Member } from './provider.ts'
import { replicate } from './replicate.ts'
import { studio } from './studio.ts'
import { vertex } from './vertex.ts'

export type { KeyRule, Member, Setting } from './provider.ts'

/** Every provider by its name, as filmgate.yaml knows it. */
export const providers = {
  studio,
  ark,
  fal,
  google,
  kling,
  replicate,
  vertex,
  openai,
} satisfies Readonly<Record<string, Member>>
