import assert from 'node:assert/strict'
import type { HeaderList } from '@countersign/protocol'
import { newKey } from '../test/support/key.ts'
import { claimAgent, postJson, startTestService } from '../test/support/service.ts'
import { signedHeaders } from '../test/support/sign-request.ts'
import { inTurns } from './in-turns.ts'
import type { Reports, ReportsTask } from './measure-reports.ts'

// node reports.ts '{"turns":…}': a report with one request, beside the verification of one. Prints `RESULT {…}`.

const SHOP = 'https://shop.example'
const URL_OF_SEARCH = `${SHOP}/search?q=1`

const { turns } = JSON.parse(process.argv[2] ?? '') as ReportsTask
const undo: (() => unknown)[] = []
// Without limits, which a benchmark exceeds at once.
const service = await startTestService({ after: (each) => void undo.push(each) })
const key = newKey()
const did = await claimAgent(service, await service.operator.addVerifiedOwner(), key)
let signed: HeaderList[] = []

/** Each request can be reported once. */
async function prepare(runs: number): Promise<void> {
  signed = []
  for (let i = 0; i < runs; i += 1) {
    signed.push(await signedHeaders(service, did, key, { url: URL_OF_SEARCH }))
  }
}

const received = () => ({ method: 'GET', url: URL_OF_SEARCH, headers: signed.pop() ?? [] })

async function send(path: string, body: object, status: number): Promise<void> {
  const response = await postJson(`${service.url}${path}`, body)
  const text = await response.text()
  assert.equal(response.status, status, text)
}

const result: Reports = await inTurns(
  {
    verification: {
      prepare,
      run: () => send('/api/v1/verify-request', { ...received(), audience: SHOP }, 200),
    },
    report: {
      prepare,
      run: () => {
        const report = { agent: did, category: 'rate', text: 'Too fast.', evidence: [received()] }
        return send('/api/v1/reports', report, 201)
      },
    },
  },
  turns,
)
console.log(`RESULT ${JSON.stringify(result)}`)
for (const each of undo.toReversed()) await each()
