import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { assertRefused } from '../../../../test/support/answer.ts'
import { ask } from '../../../../test/support/ask.ts'
import { ROOT, startTestService, type TestService } from '../../../../test/support/service.ts'

interface Listed {
  readonly file: string
  readonly version: string
  readonly size: number
  readonly sha512: string
}

let service: TestService
let listed: readonly Listed[]
const ends: (() => unknown)[] = []

before(async () => {
  service = await startTestService({ after: (end) => ends.push(end) })
  listed = JSON.parse((await ask(service, '/packages/index.json')).text).packages
})

after(() => Promise.all(ends.map((end) => end())))

test('the index lists the command, the SDK, the gateway, the Python package and the Go module in the version of the service', () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'packages/server/package.json'), 'utf8'))
  assert.deepEqual(
    listed.map((each) => [each.file, each.version]),
    [
      [`countersign-${version}.tgz`, version],
      [`countersign-sdk-${version}.tgz`, version],
      [`countersign-gateway-${version}.tgz`, version],
      [`countersign-${version}-py3-none-any.whl`, version],
      [`countersign-${version}.tar.gz`, version],
      [`countersign-go-${version}.zip`, version],
    ],
  )
})

test('each tarball has the listed size and SHA-512, with the version in its name and without', async () => {
  for (const { file, version, size, sha512 } of listed) {
    const names = file.endsWith('.tgz') ? [file, file.replace(`-${version}`, '')] : [file]
    for (const name of names) {
      const response = await fetch(`${service.url}/packages/${name}`)
      assert.equal(response.status, 200, name)
      const type = /\.(whl|zip)$/.test(file) ? 'application/zip' : 'application/gzip'
      assert.equal(response.headers.get('content-type'), type)
      assert.equal(response.headers.get('access-control-allow-origin'), '*')
      const bytes = Buffer.from(await response.arrayBuffer())
      assert.deepEqual([bytes.length, hash('sha512', bytes)], [size, sha512], name)
      const headers = { 'if-none-match': response.headers.get('etag') as string }
      assert.equal((await fetch(`${service.url}/packages/${name}`, { headers })).status, 304)
    }
  }
})

test('the Go module is at the addresses of a module proxy, and other modules and versions are not found', async () => {
  const { version } = listed[0] as Listed
  const at = `/packages/go/countersign.internal/countersign`
  const text = async (path: string) => (await ask(service, at + path)).text
  assert.equal(await text('/@v/list'), `v${version}\n`)
  for (const path of ['/@latest', `/@v/v${version}.info`])
    assert.deepEqual(JSON.parse(await text(path)), { Version: `v${version}` })
  const manifest = readFileSync(join(ROOT, 'go/go.mod'), 'utf8')
  assert.equal(await text(`/@v/v${version}.mod`), manifest)
  const zip = await fetch(`${service.url}${at}/@v/v${version}.zip`)
  const module = listed.find(({ file }) => file.startsWith('countersign-go-'))
  assert.equal(hash('sha512', Buffer.from(await zip.arrayBuffer())), module?.sha512)
  for (const path of [
    `${at}/@v/v0.0.0.zip`,
    `${at}/@v/__proto__`,
    '/packages/go/golang.org/x/mod/@v/list',
    '/packages/go/sumdb/sum.golang.org/supported',
    '/packages/go.mod',
  ]) {
    assertRefused(await ask(service, path), 404, 'NOT_FOUND')
  }
})

test('other names are not found, whatever else is in the directory', async () => {
  for (const name of [
    'published.json',
    '.made-of',
    '..%2Fdocs%2Fbook.json',
    'countersign-0.0.0.tgz',
    'toString',
  ]) {
    const answer = await ask(service, `/packages/${name}`)
    assertRefused(answer, 404, 'NOT_FOUND')
  }
})
