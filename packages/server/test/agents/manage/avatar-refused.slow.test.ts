import assert from 'node:assert/strict'
import { test } from 'node:test'
import sharp from 'sharp'
import { assertRefused } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import { putAvatar, redPng } from './avatar-uploads.ts'
import { deflatedZeroes, pngChunk, pngOf, RED } from './test-images.ts'
import { AGENTS, agentIn, startWithAgent } from './with-agent.ts'

test('other formats are rejected, whatever is declared', async (t) => {
  const start = await startWithAgent(t)
  const square = sharp({ create: { width: 8, height: 8, channels: 3, background: RED } })
  const svg = Buffer.from(
    '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>alert(1)</script></svg>',
  )
  const others: Record<string, Buffer> = {
    SVG: svg,
    'SVG after a byte order mark': Buffer.concat([Buffer.from('\ufeff'), svg]),
    GIF: await square.clone().gif().toBuffer(),
    TIFF: await square.clone().tiff().toBuffer(),
    AVIF: await square.clone().avif().toBuffer(),
    PDF: Buffer.from('%PDF-1.7\n1 0 obj <</Type/Catalog>> endobj'),
    HTML: Buffer.from('<!doctype html><script>alert(1)</script>'),
    BMP: Buffer.concat([Buffer.from('BM'), Buffer.alloc(100)]),
    'a RIFF that is a sound': Buffer.from('RIFF\0\0\0\0WAVEfmt '),
    nothing: Buffer.alloc(0),
    'one byte': Buffer.alloc(1),
  }
  for (const [name, bytes] of Object.entries(others)) {
    await t.test(name, async () => {
      for (const type of ['image/png', 'image/jpeg', 'image/webp']) {
        const answer = await unchanged(start.service, () => putAvatar(start, bytes, type))
        assertRefused(answer, 415, 'UNSUPPORTED_MEDIA_TYPE', /picture/)
      }
    })
  }
})

test('a picture with another media type or a content encoding is rejected', async (t) => {
  const start = await startWithAgent(t)
  const { service, owner, did } = start
  const png = new Uint8Array(await redPng())
  const { origin } = service.settings.baseUrl
  const declared: Record<string, string>[] = [
    { 'content-type': 'image/svg+xml' },
    { 'content-type': 'image/gif' },
    { 'content-type': 'application/json' },
    { 'content-type': 'application/octet-stream' },
    { 'content-type': 'multipart/form-data; boundary=x' },
    { 'content-type': 'none' },
    {},
    { 'content-type': 'image/png', 'content-encoding': 'gzip' },
  ]
  for (const headers of declared) {
    const answer = await unchanged(service, () =>
      ask(service, `${AGENTS}/${did}/avatar`, {
        method: 'PUT',
        headers: { cookie: owner.cookie, origin, ...headers },
        body: png,
      }),
    )
    assertRefused(answer, 415, 'UNSUPPORTED_MEDIA_TYPE')
  }
  const none = await owner.send('PUT', `${AGENTS}/${did}/avatar`)
  assertRefused(none, 415, 'UNSUPPORTED_MEDIA_TYPE')
})

test('a damaged picture is rejected', async (t) => {
  const start = await startWithAgent(t)
  const noise = { type: 'gaussian' as const, mean: 128, sigma: 40 }
  const made = sharp({
    create: { width: 200, height: 200, channels: 3, background: RED, noise },
  })
  const png = await made.clone().png().toBuffer()
  const jpeg = await made.clone().jpeg().toBuffer()
  const webp = await made.clone().webp().toBuffer()
  const flipped = Buffer.from(png)
  flipped.writeUInt8((flipped.readUInt8(60) + 1) % 256, 60)
  const damaged: Record<string, Buffer> = {
    'a PNG cut off': png.subarray(0, png.length / 2),
    'a PNG without its data': pngOf(10, 10),
    'a PNG with a header only': png.subarray(0, 33),
    'a PNG with a byte changed': flipped,
    'a PNG of no width': pngOf(0, 10, pngChunk('IDAT', await deflatedZeroes(10))),
    'a PNG with too little data': pngOf(100, 100, pngChunk('IDAT', await deflatedZeroes(50))),
    'a JPEG cut off': jpeg.subarray(0, jpeg.length / 2),
    'the start of a JPEG': Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 16]),
    'a WebP cut off': webp.subarray(0, webp.length / 2),
    'the start of a WebP': webp.subarray(0, 12),
  }
  for (const [name, bytes] of Object.entries(damaged)) {
    await t.test(name, async () => {
      const answer = await unchanged(start.service, () => putAvatar(start, bytes))
      assertRefused(answer, 400, 'VALIDATION_ERROR', /damaged/)
    })
  }
})

test('a small file with huge dimensions is rejected before it is decoded', async (t) => {
  const start = await startWithAgent(t)
  const { service, did } = start
  const rows = pngChunk('IDAT', await deflatedZeroes(64 << 20))
  const sizes: [number, number][] = [
    [30_000, 30_000],
    [8000, 5001],
    [1, 40_000_001],
  ]
  for (const [width, height] of sizes) {
    const png = pngOf(width, height, rows)
    assert.ok(png.length < 1 << 20)
    const answer = await unchanged(service, () => putAvatar(start, png))
    assert.ok([400, 413].includes(answer.status), answer.text)
    if (height !== 40_000_001) {
      assertRefused(answer, 413, 'PAYLOAD_TOO_LARGE', /40 million pixels/)
    }
    assert.equal((await ask(service, `/api/v1/agent/${did}`)).status, 200)
  }
})

test('data beyond the declared dimensions is never decompressed', async (t) => {
  const start = await startWithAgent(t)
  const bomb = await deflatedZeroes(512 << 20)
  const keyword = Buffer.from('Comment\0\0')
  const profile = Buffer.from('icc\0\0')
  const data = pngChunk('IDAT', await deflatedZeroes(11 * 10))
  const before = process.resourceUsage().maxRSS
  for (const chunks of [
    [pngChunk('IDAT', bomb)],
    [pngChunk('zTXt', Buffer.concat([keyword, bomb])), data],
    [pngChunk('iCCP', Buffer.concat([profile, bomb])), data],
  ]) {
    const { status } = await putAvatar(start, pngOf(10, 10, ...chunks))
    assert.ok(status === 200 || status === 400, `${status}`)
  }
  const grown = (process.resourceUsage().maxRSS - before) / 1024
  assert.ok(grown < 256, `${grown} MiB more`)
})

test('a body over 5 MiB is rejected, and on other routes one over 16 KiB', async (t) => {
  const start = await startWithAgent(t)
  const { service, owner, did } = start
  const padding = pngChunk(
    'tEXt',
    Buffer.concat([Buffer.from('Comment\0'), Buffer.alloc((5 << 20) - 400, 'x')]),
  )
  const png = await redPng()
  const full = Buffer.concat([png.subarray(0, 33), padding, png.subarray(33)])
  assert.ok(full.length < 5 << 20 && full.length > (5 << 20) - 1000)
  agentIn(await putAvatar(start, full))
  const { origin } = service.settings.baseUrl
  const response = await fetch(`${service.url}${AGENTS}/${did}/avatar`, {
    method: 'PUT',
    headers: { cookie: owner.cookie, origin, 'content-type': 'image/png' },
    body: ReadableStream.from(Array.from({ length: 6 }, () => new Uint8Array(1 << 20))),
    duplex: 'half',
  } as RequestInit)
  const { status, headers } = response
  const tooLarge = { status, headers, text: await response.text() }
  assertRefused(tooLarge, 413, 'PAYLOAD_TOO_LARGE', /5 MiB/)
  const patch = await owner.send('PATCH', `${AGENTS}/${did}`, { description: 'x'.repeat(17_000) })
  assertRefused(patch, 413, 'PAYLOAD_TOO_LARGE', /16 KiB/)
})
