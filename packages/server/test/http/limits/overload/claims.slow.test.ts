import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Answer } from '../../../../../../test/support/answer.ts'
import { newKey } from '../../../../../../test/support/key.ts'
import { prepareClaims } from '../../../../../../test/support/many-claims.ts'
import { freePort } from '../../../../../../test/support/ports.ts'
import {
  claimBody,
  openOperator,
  postJson,
  startServiceProcess,
  testEnv,
} from '../../../../../../test/support/service.ts'
import { startSessionOf } from '../../../../../../test/support/signed-in.ts'
import { until } from '../../../../../../test/support/until.ts'
import { readSettings } from '../../../../src/base/config.ts'
import { whileStalled } from '../rate-limit/support.ts'
import { answerOf, assertShed, figure, PATIENT, pipeline } from './support.ts'

const CLAIM = '/api/v1/claim'
/** Together the limit of concurrent claims. */
const CONNECTIONS = 64
/** As many as a connection may have unanswered. */
const EACH = 16
const MORE = 40

test('while the database accepts no write, claims past the limit get 503 at once; none is half done, no acknowledged one is lost', (t) =>
  whileStalled(async (stall) => {
    const env = { ...(await testEnv(t, PATIENT)), METRICS_PORT: String(await freePort()) }
    const settings = readSettings(env)
    const operator = await openOperator(settings)
    t.after(() => operator.close())
    const claims = await prepareClaims(operator, CONNECTIONS * EACH + MORE)
    const waiting = claims.slice(MORE)
    const tooMany = claims.slice(0, MORE)
    const service = await startServiceProcess(t, env)
    const holder = await operator.addVerifiedOwner()
    const key = newKey()
    const made = await postJson(
      service.url + CLAIM,
      claimBody(await operator.issueToken(holder), key),
    )
    const { svcDid: did } = (await made.json()) as { svcDid: string }
    const owner = await startSessionOf({ operator, settings }, holder)

    const goOn = await stall(t, settings)
    const pending = Promise.all(
      Array.from({ length: CONNECTIONS }, (_, i) =>
        pipeline(service.url, CLAIM, waiting.slice(i * EACH, (i + 1) * EACH)),
      ),
    )
    const inside = () => figure(service, 'countersign_inside{limiter="claims"}')
    await until(async () => (await inside()) === CONNECTIONS * EACH, 6000)
    for (const claim of tooMany) {
      assertShed(await answerOf(await postJson(service.url + CLAIM, claim)))
    }
    assert.equal(await figure(service, 'countersign_refused_total{reason="claims"}'), MORE)
    assert.equal((await fetch(`${service.url}/api/v1/agent/${did}`)).status, 200)
    const revoked = fetch(`${service.url}/api/account/agents/${did}/revoke`, {
      method: 'POST',
      headers: { ...owner, 'content-type': 'application/json' },
      body: '{}',
    })
    await goOn()

    assert.equal(
      (await revoked).status,
      200,
      'a revocation is not refused for the claims before it',
    )
    const answers = (await pending).flat()
    for (const [i, answer] of answers.entries()) {
      const claim = waiting[i] as (typeof claims)[number]
      if (answer.status === 200) {
        const { svcDid } = JSON.parse(answer.text)
        assert.equal((await fetch(`${service.url}/api/v1/agent/${svcDid}`)).status, 200)
      } else assertNothingDone(answer, await postJson(service.url + CLAIM, claim))
    }
    assert.ok(answers.some(({ status }) => status === 200))
    for (const claim of tooMany) {
      assert.equal((await postJson(service.url + CLAIM, claim)).status, 200, 'its token is unused')
    }
    const { count } = await operator.db.read
      .selectFrom('agents')
      .select((eb) => eb.fn.countAll().as('count'))
      .executeTakeFirstOrThrow()
    assert.equal(Number(count), claims.length + 1, 'an agent a token')
    assert.equal(await inside(), 0)
  }, 2))

/** The wait for the lock timed out: the response says so, and the token is unused. */
function assertNothingDone(answer: Answer, again: Response): void {
  assert.equal(answer.status, 503, answer.text)
  assert.match(answer.headers.get('retry-after') ?? 'none', /^\d+$/)
  assert.equal(again.status, 200)
}
