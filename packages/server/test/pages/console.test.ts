import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agentOf, gateway } from '@countersign/gateway/fetch'
import { ask, post } from '../../../../test/support/ask.ts'
import { unchanged } from '../../../../test/support/database-digest.ts'
import { newKey } from '../../../../test/support/key.ts'
import { claimAgent, startTestService, type TestService } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { signedHeaders } from '../../../../test/support/sign-request.ts'
import { textOf } from './support/html.ts'

const FORM = 'application/x-www-form-urlencoded'
const ORIGIN = 'https://shop.example'
type Fields = Readonly<Record<string, string>>

async function decideAt(service: TestService, fields: Fields): Promise<string> {
  const body = new URLSearchParams({ origin: ORIGIN, ...fields }).toString()
  const answer = await unchanged(service, () => post(service, '/console', body, FORM))
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  assert.ok(answer.text.includes('action="/console#result"'), 'no input is in the address')
  return answer.text
}

/** The texts of the code blocks: the code of four frameworks, and the file of countersign-gateway. */
function configurations(html: string): string[] {
  return [...html.matchAll(/<pre tabindex="0"><code>(.*?)<\/code>/gis)].map(([, text = '']) =>
    text
      .replaceAll(/&quot;/g, '"')
      .replaceAll(/&#x27;/g, "'")
      .replaceAll(/&lt;/g, '<')
      .replaceAll(/&gt;/g, '>')
      .replaceAll(/&amp;/g, '&'),
  )
}

function fileOf(html: string): { service: string; audiences?: string[]; policy?: object } {
  return JSON.parse(configurations(html).at(-1) ?? '')
}

/** What the page shows of a decision: its title, the codes of its reasons, and the headers or the response. */
function shown(html: string): { title: string; reasons: string[]; lines: string[] } {
  const text = html.slice(html.indexOf('id="result"'), html.indexOf('aria-label="Configuration"'))
  const [, title = ''] = /<p class="text-2xl[^>]*>(.*?)<\/p>/.exec(text) ?? []
  const reasons = [...text.matchAll(/\(<!-- -->([a-z-]+)<!-- -->\)|\(([a-z-]+)\)/g)]
  const lines = [...text.matchAll(/<code class="block[^>]*>(.*?)<\/code>/g)]
  return {
    title,
    reasons: reasons.map(([, a, b]) => a ?? b ?? ''),
    lines: lines.map(([, line = '']) => line.replaceAll('<!-- -->', '')),
  }
}

test('debug', async (t) => {
  const service = await startTestService(t)
  const key = newKey()
  const did = await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  const html = await decideAt(service, { caller: 'signature', agent: did })
  console.log(textOf(html).slice(0, 3000))
  console.log(configurations(html))
  console.log(shown(html))
})
