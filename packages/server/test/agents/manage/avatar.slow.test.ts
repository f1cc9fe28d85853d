import assert from 'node:assert/strict'
import { test } from 'node:test'
import sharp from 'sharp'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import { pictureOf, putAvatar, redPng } from './avatar-uploads.ts'
import { BLUE, colourAt, halves, pngChunk, RED } from './test-images.ts'
import { AGENTS, agentIn, showAgent, startWithAgent } from './with-agent.ts'

test('an uploaded picture becomes a WebP of 512 pixels that the card links to, and can be removed', async (t) => {
  const start = await startWithAgent(t)
  const { service, owner, did } = start
  const { origin } = service.settings.baseUrl
  const drawn = `${origin}/api/agents/${did}/avatar.svg`
  const before = await showAgent(owner, did)
  assert.deepEqual([before.hasAvatar, before.avatarUrl], [false, drawn])
  assertRefused(await ask(service, `/api/agents/${did}/avatar.webp`), 404, 'NOT_FOUND')

  const agent = agentIn(await putAvatar(start, await redPng()))

  assert.equal(agent.hasAvatar, true)
  assert.ok(agent.avatarUrl.startsWith(`${origin}/api/agents/${did}/avatar.webp?v=`))
  const card = jsonOf(await ask(service, `/api/agents/${did}/card`))
  assert.equal(card.avatarUrl, agent.avatarUrl)
  const picture = await pictureOf(service, did)
  const { format, width, height } = await sharp(picture).metadata()
  assert.deepEqual([format, width, height], ['webp', 512, 512])
  assert.equal(await colourAt(picture, 256, 256), 'red')

  const without = agentIn(await owner.send('DELETE', `${AGENTS}/${did}/avatar`))
  assert.deepEqual([without.hasAvatar, without.avatarUrl], [false, drawn])
  assertRefused(await ask(service, `/api/agents/${did}/avatar.webp`), 404, 'NOT_FOUND')
  await unchanged(service, () => owner.send('DELETE', `${AGENTS}/${did}/avatar`))
})

test('PNG, JPEG and WebP are accepted, whichever of the three is declared', async (t) => {
  const start = await startWithAgent(t)
  const picture = halves(60, 40, RED, BLUE)
  const made = {
    'image/png': await picture.clone().png().toBuffer(),
    'image/jpeg': await picture.clone().jpeg().toBuffer(),
    'image/webp': await picture.clone().webp({ lossless: true }).toBuffer(),
  }
  for (const declared of Object.keys(made)) {
    for (const bytes of Object.values(made)) {
      agentIn(await putAvatar(start, bytes, declared))
      const shown = await pictureOf(start.service, start.did)
      assert.deepEqual(
        [await colourAt(shown, 5, 256), await colourAt(shown, 505, 256)],
        ['red', 'blue'],
      )
    }
  }
})

test('the avatar is served with a sandboxing policy and immutable caching', async (t) => {
  const start = await startWithAgent(t)
  const { service, did } = start
  const { avatarUrl } = agentIn(await putAvatar(start, await redPng()))
  const { pathname, search } = new URL(avatarUrl)
  const table: [string, string, string][] = [
    [pathname + search, 'image/webp', 'public, max-age=86400, immutable'],
    [pathname, 'image/webp', 'public, max-age=30'],
    [`${pathname}?v=another`, 'image/webp', 'public, max-age=30'],
    [`/api/agents/${did}/avatar.svg`, 'image/svg+xml', 'public, max-age=30'],
  ]
  for (const [target, type, cacheControl] of table) {
    const answer = await ask(service, target)
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('content-type')?.split(';')[0], type)
    assert.equal(answer.headers.get('cache-control'), cacheControl)
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
    assert.equal(answer.headers.get('content-security-policy'), "default-src 'none'; sandbox")
    assert.equal(answer.headers.get('access-control-allow-origin'), '*')
    const etag = answer.headers.get('etag') as string
    const again = await ask(service, target, { headers: { 'if-none-match': etag } })
    assert.deepEqual([again.status, again.text], [304, ''])
    const head = await ask(service, target, { method: 'HEAD' })
    for (const name of ['content-length', 'content-type', 'etag', 'cache-control']) {
      assert.equal(head.headers.get(name), answer.headers.get(name), name)
    }
    assertRefused(await ask(service, target, { method: 'DELETE' }), 405, 'METHOD_NOT_ALLOWED')
  }
  assertRefused(await ask(service, `${pathname}?v=1&v=2`), 400, 'VALIDATION_ERROR')
})

test('another picture gets another URL; the same picture again changes nothing', async (t) => {
  const start = await startWithAgent(t)
  const first = agentIn(await putAvatar(start, await redPng()))
  const again = await unchanged(start.service, async () => putAvatar(start, await redPng()))
  assert.equal(agentIn(again).avatarUrl, first.avatarUrl)
  const other = agentIn(await putAvatar(start, await halves(8, 8, RED, BLUE).png().toBuffer()))
  assert.notEqual(other.avatarUrl, first.avatarUrl)
})

test('a revoked agent keeps its avatar, cannot get another, and its avatar can be removed', async (t) => {
  const start = await startWithAgent(t)
  const { service, owner, did } = start
  agentIn(await putAvatar(start, await redPng()))
  agentIn(await owner.post(`${AGENTS}/${did}/revoke`))
  await pictureOf(service, did)
  const blue = await halves(8, 8, BLUE, BLUE).png().toBuffer()
  const answer = await unchanged(service, () => putAvatar(start, blue))
  assertRefused(answer, 400, 'VALIDATION_ERROR', /revoked/)
  const agent = agentIn(await owner.send('DELETE', `${AGENTS}/${did}/avatar`))
  assert.equal(agent.hasAvatar, false)
})

test('the crop is in pixels after rotation', async (t) => {
  const start = await startWithAgent(t)
  const upright = await halves(80, 40, RED, BLUE).png().toBuffer()
  // Rotated by EXIF: stored with the red half on the left, displayed with it on top.
  const turned = await halves(80, 40, RED, BLUE)
    .withMetadata({ orientation: 6 })
    .jpeg({ quality: 100 })
    .toBuffer()
  const table: [Buffer, string, 'red' | 'blue'][] = [
    [upright, '0,0,40', 'red'],
    [upright, '40,0,40', 'blue'],
    [upright, '70,30,10', 'blue'],
    [turned, '0,0,40', 'red'],
    [turned, '0,40,40', 'blue'],
  ]
  for (const [picture, crop, colour] of table) {
    agentIn(await putAvatar(start, picture, 'image/png', `?crop=${crop}`))
    const shown = await pictureOf(start.service, start.did)
    for (const [x, y] of [
      [20, 20],
      [490, 20],
      [20, 490],
      [490, 490],
    ] as const) {
      assert.equal(await colourAt(shown, x, y), colour, `${crop} at ${x},${y}`)
    }
  }
  for (const crop of ['41,0,40', '0,1,40', '0,0,41', '0,0,0', '99999,0,1']) {
    const answer = await putAvatar(start, upright, 'image/png', `?crop=${crop}`)
    assertRefused(answer, 400, 'VALIDATION_ERROR', /square/)
  }
  assertRefused(
    await putAvatar(start, turned, 'image/jpeg', '?crop=40,0,40'),
    400,
    'VALIDATION_ERROR',
  )
  for (const crop of ['', '0,0', '-1,0,5', '0.5,0,5', '0,0,5,5', 'a,b,c', '0,0,100000']) {
    const answer = await putAvatar(start, upright, 'image/png', `?crop=${crop}`)
    assertRefused(answer, 400, 'VALIDATION_ERROR')
  }
})

test('a JPEG is rotated upright, and its location metadata is removed', async (t) => {
  const start = await startWithAgent(t)
  const jpeg = await halves(80, 40, RED, BLUE)
    .withExif({
      IFD0: { Artist: 'Ada Lovelace', Copyright: 'SECRET-IFD0' },
      IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '51/1 30/1 0/1' },
    })
    .withMetadata({ orientation: 6 })
    .withIccProfile('p3')
    .withXmp('<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf>SECRET-XMP</rdf></x:xmpmeta>')
    .jpeg()
    .toBuffer()
  const { exif, icc, xmp, orientation } = await sharp(jpeg).metadata()
  assert.ok(
    exif?.includes('Ada Lovelace') && icc && xmp?.includes('SECRET-XMP'),
    'all of it is there',
  )
  assert.equal(orientation, 6)

  agentIn(await putAvatar(start, jpeg, 'image/jpeg'))

  const shown = await pictureOf(start.service, start.did)
  assert.deepEqual(
    [await colourAt(shown, 256, 10), await colourAt(shown, 256, 500)],
    ['red', 'blue'],
  )
  const after = await sharp(shown).metadata()
  assert.deepEqual(
    [after.exif, after.icc, after.xmp, after.orientation, after.space],
    [undefined, undefined, undefined, undefined, 'srgb'],
  )
  for (const secret of ['Ada', 'SECRET', 'EXIF', 'Exif', 'XMP', 'ICCP']) {
    assert.equal(shown.includes(secret), false, secret)
  }
})

test('hidden and appended data are removed', async (t) => {
  const start = await startWithAgent(t)
  const page = Buffer.from('<html><script>alert(1)</script></html>*/=1;alert(1)//')
  const text = pngChunk('tEXt', Buffer.concat([Buffer.from('Comment\0'), page]))
  const png = await redPng()
  const gif = Buffer.concat([Buffer.from('GIF89a/*'), page])
  const jpeg = await halves(8, 8, RED, RED).jpeg().toBuffer()
  const comment = Buffer.concat([Buffer.from([0xff, 0xfe, 0, page.length + 2]), page])
  const polyglots = {
    'after the end of a PNG': Buffer.concat([png, page]),
    'in a text of a PNG': Buffer.concat([png.subarray(0, 33), text, png.subarray(33)]),
    'after the end of a PNG, another picture': Buffer.concat([png, gif]),
    'in a comment of a JPEG': Buffer.concat([jpeg.subarray(0, 2), comment, jpeg.subarray(2)]),
    'after the end of a JPEG': Buffer.concat([jpeg, page]),
  }
  for (const [name, bytes] of Object.entries(polyglots)) {
    assert.ok(bytes.includes('alert(1)'))
    agentIn(await putAvatar(start, bytes))
    const shown = await pictureOf(start.service, start.did)
    for (const part of ['alert', 'script', 'html', 'GIF']) {
      assert.equal(shown.includes(part), false, `${name}: ${part}`)
    }
    assert.equal((await sharp(shown).metadata()).format, 'webp')
  }
})

test('of an animation, the first frame is used', async (t) => {
  const start = await startWithAgent(t)
  const frames = await Promise.all(
    [RED, BLUE].map((colour) => halves(16, 16, colour, colour).png().toBuffer()),
  )
  const moving = await sharp(frames, { join: { animated: true } })
    .webp({ lossless: true, loop: 0, delay: [100, 100] })
    .toBuffer()
  assert.equal((await sharp(moving).metadata()).pages, 2)
  agentIn(await putAvatar(start, moving, 'image/webp'))
  const shown = await pictureOf(start.service, start.did)
  assert.equal(await colourAt(shown, 256, 256), 'red')
  const { pages = 1, height } = await sharp(shown).metadata()
  assert.deepEqual([pages, height], [1, 512])
})

test('concurrent uploads are processed one after another, and too many are rejected', async (t) => {
  const start = await startWithAgent(t)
  const noise = { type: 'gaussian' as const, mean: 128, sigma: 40 }
  const large = await sharp({
    create: { width: 1200, height: 1200, channels: 3, background: RED, noise },
  })
    .jpeg()
    .toBuffer()
  const { service, owner, did } = start
  const { origin } = service.settings.baseUrl
  const headers = { cookie: owner.cookie, origin, 'content-type': 'image/jpeg' }
  const url = `${service.url}${AGENTS}/${did}/avatar`
  const body = new Uint8Array(large)
  const statuses = await Promise.all(
    Array.from({ length: 40 }, async () => {
      const response = await fetch(url, { method: 'PUT', headers, body })
      await response.arrayBuffer()
      return response.status
    }),
  )
  assert.ok(statuses.includes(200))
  assert.deepEqual(
    [...new Set(statuses)].sort().filter((each) => each !== 503),
    [200],
  )
  agentIn(await putAvatar(start, await redPng()))
})
