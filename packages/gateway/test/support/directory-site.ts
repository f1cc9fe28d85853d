import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { startSite } from '../../../../test/support/impostor.ts'
import type { Cleanup } from '../../../../test/support/service.ts'
import type { Decision } from '../../src/decision/decision.ts'
import type { GatewayOptions } from '../../src/options.ts'
import type { PolicyInput } from '../../src/policy/policy.ts'
import { FRAMEWORKS } from './frameworks.ts'
import { foreignSigner, olderNonceStore, SHOP } from './signing.ts'

export const BOTS = 'https://bots.example'
/** Nobody answers here: signers of other directories never cause a question to the service. */
export const NO_SERVICE = 'http://127.0.0.1:1'
/** Signers of the directory are admitted if they sign everything. */
export const BOTS_ALLOWED = {
  directories: [{ url: BOTS }],
  levels: { directory: 'allow' },
} as const satisfies PolicyInput

type Test = Cleanup

/** A signer whose keys are in the directory of its origin. */
export const botSigner = (url = BOTS) => foreignSigner({ dialect: 'origin', url })

/** A directory on a real server, which answers with these keys or by a listener of its own. */
export async function startDirectory(
  t: Test,
  keys: readonly unknown[],
  listener?: RequestListener,
) {
  const asked: string[] = []
  const directory = { keys, asked, listener, fetch: globalThis.fetch }
  const url = await startSite(t, (request, response) => {
    asked.push(String(request.url))
    if (directory.listener) return directory.listener(request, response)
    response.end(JSON.stringify({ keys: directory.keys }))
  })
  directory.fetch = (input, init) => fetch(new URL(new URL(String(input)).pathname, url), init)
  return directory
}

/** A site behind a gateway, whose decisions are recorded. */
export async function startBotSite(
  t: Test,
  options: Partial<GatewayOptions>,
  framework: keyof typeof FRAMEWORKS = 'Express',
) {
  const decisions: Decision[] = []
  const url = await (FRAMEWORKS[framework] ?? assert.fail())(t, {
    service: NO_SERVICE,
    audiences: [SHOP],
    tlsTerminated: true,
    nonces: olderNonceStore(),
    onDecision: (decision) => decisions.push(decision),
    ...options,
  })
  const last = () => decisions.at(-1) ?? assert.fail('no decision')
  return { url, last, reason: () => last().signature?.reason }
}
