import { fileURLToPath } from 'node:url'
import { type Canvas, createCanvas, GlobalFonts } from '@napi-rs/canvas'
import type { Size } from '../core/task.ts'
import { chanceOf } from './chance.ts'
import type { Pen } from './stage.ts'

const family = 'Filmgate Inter'
const font = new URL('../../assets/fonts/Inter-Medium.otf', import.meta.url)
const maxLines = 3

/**
 * What lies over every frame of a film: darker edges, a little grain, and the prompt along the bottom, if there is to be
 * one. Drawn once, then only copied: grain that moves would cost more bits than the film.
 */
export function overlayOf(prompt: string | null, size: Size): Canvas {
  const canvas = createCanvas(size.width, size.height)
  const pen = canvas.getContext('2d')
  drawVignette(pen, size)
  drawGrain(pen, size)
  if (prompt !== null) drawCaption(pen, prompt, size)
  return canvas
}

/** One grey level up or down breaks the bands that wide gradients have in eight bits. */
function drawGrain(pen: Pen, size: Size): void {
  const side = 128
  const chance = chanceOf('grain')
  const tile = createCanvas(side, side)
  const spots = tile.getContext('2d')
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) {
      spots.fillStyle = chance() < 0.5 ? 'rgba(0,0,0,0.016)' : 'rgba(255,255,255,0.012)'
      spots.fillRect(x, y, 1, 1)
    }
  }
  for (let y = 0; y < size.height; y += side) for (let x = 0; x < size.width; x += side) pen.drawImage(tile, x, y)
}

function drawVignette(pen: Pen, size: Size): void {
  const { width, height } = size
  const reach = Math.hypot(width, height) / 2
  pen.save()
  // An ellipse by the shape of the frame: a round one would darken most of a long frame.
  pen.translate(width / 2, height / 2)
  pen.scale(width / (2 * reach), height / (2 * reach))
  const edge = reach * Math.SQRT2
  const shade = pen.createRadialGradient(0, 0, edge * 0.55, 0, 0, edge)
  shade.addColorStop(0, 'rgba(0,0,0,0)')
  shade.addColorStop(1, 'rgba(0,0,0,0.24)')
  pen.fillStyle = shade
  pen.fillRect(-reach, -reach, reach * 2, reach * 2)
  pen.restore()
}

/** Nothing is written where no character of the prompt can be drawn. */
function drawCaption(pen: Pen, prompt: string, size: Size): void {
  if (!GlobalFonts.has(family)) GlobalFonts.registerFromPath(fileURLToPath(font), family)
  const fontSize = Math.round(Math.max(12, Math.min(size.width, size.height * 1.2) * 0.034))
  pen.font = fontOf(fontSize)
  const plain = prompt.replace(/[\s\p{C}]+/gu, ' ').trim()
  const text = legible(plain.slice(0, 600), eyes())
  const measure = (part: string) => pen.measureText(part).width
  const lines = balanced(text, Math.min(size.width * 0.88, fontSize * 34), measure)
  if (lines.length > 0) writeLines(pen, lines, size, fontSize)
}

function fontOf(fontSize: number): string {
  return `500 ${fontSize}px "${family}", sans-serif`
}

/** White on its own shade: legible on any background. */
function writeLines(pen: Pen, lines: string[], size: Size, fontSize: number): void {
  const lineHeight = Math.round(fontSize * 1.34)
  const inset = Math.round(fontSize * 1.25)
  const top = Math.max(0, size.height - lines.length * lineHeight - inset * 2 - fontSize)
  const shade = pen.createLinearGradient(0, top, 0, size.height)
  shade.addColorStop(0, 'rgba(0,0,0,0)')
  shade.addColorStop(0.45, 'rgba(0,0,0,0.32)')
  shade.addColorStop(1, 'rgba(0,0,0,0.62)')
  pen.fillStyle = shade
  pen.fillRect(0, top, size.width, size.height - top)
  pen.textAlign = 'center'
  pen.shadowColor = 'rgba(0,0,0,0.65)'
  pen.shadowBlur = fontSize * 0.3
  pen.shadowOffsetY = fontSize * 0.06
  pen.fillStyle = 'rgba(255,255,255,0.96)'
  for (const [index, line] of lines.entries()) {
    const fromBottom = (lines.length - 1 - index) * lineHeight
    pen.fillText(line, size.width / 2, size.height - inset - fromBottom)
  }
}

/** The narrowest of the wraps with as few lines: no word is left alone on the last one. */
function balanced(text: string, width: number, measure: (text: string) => number): string[] {
  let lines = wrapText(text, width, measure)
  if (lines.at(-1)?.endsWith('…')) return lines
  for (let narrower = width * 0.95; narrower > width * 0.5; narrower *= 0.95) {
    const attempt = wrapText(text, narrower, measure)
    if (attempt.length > lines.length || attempt.at(-1)?.endsWith('…')) break
    lines = attempt
  }
  return lines
}

/** At most three lines; words that are too long for one are cut, what is left over becomes an ellipsis. */
export function wrapText(text: string, width: number, measure: (text: string) => number): string[] {
  const lines: string[] = []
  let line = ''
  const words = text.split(' ').filter((word) => word !== '')
  for (const [index, word] of words.entries()) {
    const longer = line === '' ? word : `${line} ${word}`
    if (measure(longer) <= width) {
      line = longer
      continue
    }
    if (line !== '') lines.push(line)
    line = word
    // Scripts without spaces, and words longer than a line, break anywhere.
    while (measure(line) > width && lines.length < maxLines) {
      const head = longestHead(line, width, measure)
      lines.push(head)
      line = line.slice(head.length)
    }
    if (lines.length >= maxLines) return ellipsis(lines, width, measure)
    if (index === words.length - 1) break
  }
  return line === '' ? lines : [...lines, line]
}

function longestHead(text: string, width: number, measure: (text: string) => number): string {
  let head = ''
  for (const character of text) {
    if (head !== '' && measure(head + character) > width) break
    head += character
  }
  return head
}

function ellipsis(lines: string[], width: number, measure: (text: string) => number): string[] {
  const kept = lines.slice(0, maxLines)
  const last = kept.pop() ?? ''
  return [...kept, `${longestHead(last, width - measure('…'), measure).replace(/(?<![\s.,;:!?-])[\s.,;:!?-]+$/, '')}…`]
}

/**
 * Without what no font here can draw. A word that loses a letter goes with the marks beside it, and no comma is left at
 * the end; a prompt with most of it missing would say something else, so it is left out.
 */
export function legible(text: string, canDraw: (character: string) => boolean): string {
  const words = text.split(' ').flatMap((word) => {
    const lost = [...word].filter((character) => !canDraw(character))
    if (lost.length === 0) return [word]
    const kept = [...word].filter(canDraw).join('')
    return lost.some(isLetter) || ![...kept].some(isLetter) ? [] : [kept]
  })
  const kept = words.join(' ')
  if (kept.length === text.length) return text
  return kept.length * 2 < text.length ? '' : kept.replace(/(?<![\s,;:–—-])[\s,;:–—-]+$/, '')
}

function isLetter(character: string): boolean {
  return /[\p{L}\p{N}]/u.test(character)
}

/**
 * Whether a character leaves a picture that is not the empty box. Whatever our font lacks may still come from the
 * machine's fonts, so that what counts is how it looks.
 */
function eyes(): (character: string) => boolean {
  const pen = createCanvas(24, 24).getContext('2d')
  pen.font = fontOf(16)
  const picture = (character: string): string => {
    pen.clearRect(0, 0, 24, 24)
    pen.fillText(character, 4, 18)
    return Buffer.from(pen.getImageData(0, 0, 24, 24).data.buffer).toString('base64')
  }
  const nothing = [picture('\u{10fffe}'), picture(' ')]
  const known = new Map<string, boolean>()
  return (character) => {
    if (character <= '\u024f') return true
    const seen = known.get(character) ?? !nothing.includes(picture(character))
    known.set(character, seen)
    return seen
  }
}
