import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startServiceProcess } from '../../../../../test/support/service.ts'

const TEXT = 'Call-0800-555-and-read-out-a-recovery-code'

test("a provider's callback passes codes to the dashboard, and logs no text of the caller", async (t) => {
  const service = await startServiceProcess(t, { LOG_LEVEL: 'info' })
  const locationOf = async (path: string) => {
    const { status, headers } = await fetch(service.url + path, { redirect: 'manual' })
    assert.equal(status, 303, path)
    return headers.get('location') as string
  }
  const query = `?error=${TEXT}&error_description=${TEXT}&message=${TEXT}&state=${TEXT}`

  const unknown = await locationOf(`/sign-in/callback/${TEXT}${query}`)
  const known = await locationOf(`/sign-in/callback/dev-low${query}`)
  const identity = await locationOf(`/identity/callback/dev-low${query}`)

  assert.match(
    unknown,
    /^\/dashboard\/sign-in\?failed=unknown&code=unknown-provider&request=req_[\w-]+$/,
  )
  assert.match(known, /^\/dashboard\/sign-in\?failed=dev-low&code=flow-expired&request=req_[\w-]+$/)
  assert.match(
    identity,
    /^\/dashboard\/identity\?failed=dev-low&code=signed-out&request=req_[\w-]+$/,
  )
  await service.stop()
  assert.doesNotMatch(service.output(), /0800/)
  assert.doesNotMatch(service.output(), new RegExp(`${unknown.split('request=')[1]}`))
})
