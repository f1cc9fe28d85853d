import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { assertRefused } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { ROOT, startTestService } from '../../../../../test/support/service.ts'

const INDEX = '/.well-known/agent-skills/index.json'
const ACME = {
  SHORT_NAME: 'acme',
  ID_HEADER: 'AcmeID',
  SERVICE_NAME: 'Acme: "agents" & more',
  BASE_URL: 'https://agents.example',
}

interface Index {
  readonly $schema: string
  readonly skills: readonly Record<'name' | 'type' | 'description' | 'url' | 'digest', string>[]
}

test('the skills index names the skill with the digest of the served bytes', async (t) => {
  const service = await startTestService(t, ACME)
  const { headers, text } = await ask(service, INDEX)
  assert.match(headers.get('content-type') ?? '', /^application\/json/)
  const index: Index = JSON.parse(text)
  assert.equal(index.$schema, 'https://schemas.agentskills.io/discovery/0.2.0/schema.json')
  const [skill, ...more] = index.skills
  assert.ok(skill !== undefined && more.length === 0)
  assert.equal(skill.type, 'skill-md')
  assert.match(skill.name, /^(?!-)(?!.*--)[a-z0-9-]{1,64}(?<!-)$/)
  assert.ok(skill.description.length <= 1024)
  const at = await fetch(new URL(skill.url, service.url + INDEX))
  const bytes = Buffer.from(await at.arrayBuffer())
  assert.equal(skill.digest, `sha256:${hash('sha256', bytes, 'hex')}`)
  assert.equal(skill.url, `/.well-known/agent-skills/${skill.name}/SKILL.md`)
  assert.equal((await ask(service, '/skill.md')).text, bytes.toString())
  assertRefused(await ask(service, '/.well-known/agent-skills/other/SKILL.md'), 404, 'NOT_FOUND')
})

test('the skill has front matter, the text of docs/agents.md and the names of the deployment', async (t) => {
  const service = await startTestService(t, ACME)
  const { headers, text } = await ask(service, '/skill.md')
  assert.equal(headers.get('content-type'), 'text/markdown; charset=utf-8')
  const [, front = '', body = ''] = /^---\n(.*?)\n---\n\n(.*)$/s.exec(text) ?? []
  const [name, description] = front.split('\n')
  assert.equal(name, 'name: acme-agent-identity')
  assert.ok(JSON.parse(description?.replace('description: ', '') ?? '').includes(ACME.SERVICE_NAME))
  assert.doesNotMatch(text, /svc|ServiceID|Countersign|localhost/)
  for (const each of [
    'acme-verify-',
    'acme-challenge-v1:',
    'AcmeID: $DID',
    'export COUNTERSIGN_URL=https://agents.example',
  ]) {
    assert.ok(body.includes(each), each)
  }
  const written = readFileSync(join(ROOT, 'docs/agents.md'), 'utf8')
  const headings = [...written.matchAll(/^#+ .*$/gm)].map(([line]) => line)
  assert.ok(headings.length >= 10)
  for (const heading of headings) assert.ok(body.includes(`${heading}\n`), heading)
})

test('every link of the skill and llms.txt resolves to Markdown', async (t) => {
  const service = await startTestService(t)
  for (const target of ['/skill.md', '/llms.txt']) {
    const { text } = await ask(service, target)
    const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, url]) => url as string)
    assert.ok(links.length >= 2)
    for (const url of links) {
      assert.ok(url.startsWith(`${service.url}/`), `${target}: ${url}`)
      const { status, headers } = await fetch(url)
      assert.equal(status, 200, url)
      if (url.includes('.md'))
        assert.equal(headers.get('content-type'), 'text/markdown; charset=utf-8')
    }
  }
})

test('llms.txt is a title, a summary and sections of links', async (t) => {
  const service = await startTestService(t, ACME)
  const { headers, text } = await ask(service, '/llms.txt')
  assert.equal(headers.get('content-type'), 'text/plain; charset=utf-8')
  assert.ok(text.startsWith(`# ${ACME.SERVICE_NAME}\n\n> ${ACME.SERVICE_NAME} issues`))
  const [, ...sections] = text.split(/^## /m)
  assert.ok(sections.length >= 4)
  for (const section of sections)
    assert.match(section, /^[^\n]+\n\n(?:- \[[^\]]+\]\(https:\S+\): .+\n)+\n?$/)
  assert.doesNotMatch(text, /svc|ServiceID|Countersign|localhost/)
})

test('skill files allow any origin, short caching and revalidation', async (t) => {
  const service = await startTestService(t)
  for (const target of ['/skill.md', '/llms.txt', INDEX, '/docs/agents.md']) {
    const { headers } = await ask(service, target)
    assert.equal(headers.get('access-control-allow-origin'), '*', target)
    assert.match(headers.get('cache-control') ?? '', /^public/)
    const known = { 'if-none-match': headers.get('etag') ?? '' }
    assert.equal((await ask(service, target, { headers: known })).status, 304)
    assertRefused(await ask(service, target, { method: 'POST' }), 405, 'METHOD_NOT_ALLOWED')
  }
})
