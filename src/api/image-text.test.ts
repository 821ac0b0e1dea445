import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readImageText } from './image-text.ts'
import { LongText, liftTexts, returnTexts } from './long-text.ts'

const image = Buffer.from(Array.from({ length: 1_000_003 }, (_, at) => (at * 7_919) % 251))
const base64 = image.toString('base64')
const small = image.subarray(0, 100)

it('reads an image given as text: a URL, a data URL, or base64 with or without line breaks', async () => {
  assert.deepEqual(await readImageText('https://example.com/a.png', 'image'), { url: 'https://example.com/a.png' })
  assert.deepEqual(await readImageText('file:///etc/passwd', 'image'), { url: 'file:///etc/passwd' })
  for (const length of [1, 2, 3, 4, 98, 99, 100]) {
    const bytes = small.subarray(0, length)
    const text = bytes.toString('base64')
    const forms = [
      text,
      `data:image/png;base64,${text}`,
      `data:image/png;name=f\u00f6x\u72d0.png;base64,${text}`,
      text.replace(/(.{20})/g, '$1\r\n'),
      bytes.toString('base64url'),
    ]
    for (const form of forms) {
      const read = await readImageText(form, 'image')
      assert.ok('bytes' in read && bytes.equals(read.bytes), form)
    }
  }
  const wrong = [
    '',
    'fox.png',
    'a',
    '****',
    'data:image/png,abc',
    'data:image/png;base64,',
    'a=b=',
    'AA===',
    'AAA\u0141',
  ]
  for (const text of wrong)
    await assert.rejects(readImageText(text, 'image'), { code: 'invalid_image', param: 'image' }, text)
})

/** As a field of a form, and as a field of JSON. */
function written(text: string, json = JSON.stringify(text)): LongText[] {
  const lifted = liftTexts(Buffer.from(`{"prompt":"x","image":${json}}`))
  const { image } = returnTexts(JSON.parse(lifted.rest.toString()), '', lifted) as { image: LongText }
  return [new LongText(Buffer.from(text), { isEscaped: false }), image]
}

it('reads a long text in pieces, however it is written in JSON', async () => {
  const lines = base64.replace(/(.{76})/g, '$1\r\n')
  const forms = [
    ...written(base64),
    ...written(`data:image/png;base64,${base64}`),
    ...written(lines),
    // As PHP and as .NET write it.
    ...written(base64, JSON.stringify(base64).replaceAll('/', '\\/')),
    ...written(base64, JSON.stringify(base64).replaceAll('+', '\\u002B')),
    // Escapes alone: some are cut wherever a piece ends.
    ...written(base64, `"${[...base64].map((sign) => `\\u00${sign.charCodeAt(0).toString(16)}`).join('')}"`),
    ...written(base64, `"${[...base64].join('\\n')}"`),
  ]
  for (const text of forms) {
    assert.ok(text instanceof LongText)
    const read = await readImageText(text, 'image')
    assert.ok('bytes' in read && image.equals(read.bytes))
  }
})

it('refuses a long text that is not base64, wherever that shows', async () => {
  const wrong = [`${base64.slice(0, -4)}A`, `${base64}*`, `*${base64}`, `${base64}A`, `${base64}\u00e9`, `${base64}"`]
  for (const text of [...wrong, `${base64}\\`, `${base64}${'\\'.repeat(60_000)}`, `data:image/png,${base64}`])
    for (const form of written(text))
      await assert.rejects(readImageText(form, 'image'), { code: 'invalid_image', param: 'image' }, text.slice(-10))
  for (const json of [`"${base64}\\x"`, `"${base64}\n"`])
    for (const form of written('*', json)) await assert.rejects(readImageText(form, 'image'), { code: 'invalid_image' })
  assert.throws(() => written(`${base64}${'\\'.repeat(600_000)}`), { code: 'invalid_json' })
  for (const form of written(`https://example.com/${base64}`))
    await assert.rejects(readImageText(form, 'image'), { code: 'invalid_image_url', param: 'image' })
})
