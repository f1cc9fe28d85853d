import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { VerificationBegun } from '@countersign/protocol'
import { addOwner } from '../../packages/server/src/accounts/owners/add-owner.ts'
import { jsonOf } from './answer.ts'
import type { TestService } from './service.ts'
import { type SignedInOwner, signIn } from './signed-in.ts'
import { UserAgent } from './user-agent.ts'

/** A verification that was started in a browser. */
export interface BegunIdentity {
  readonly browser: UserAgent
  /** The URL of the provider to which the browser is sent. */
  readonly redirect: string
}

/** The result of a verification in the dashboard's query parameters. */
export interface Outcome {
  readonly verified: string | null
  readonly failed: string | null
  /** One of `CALLBACK_FAILURES`. */
  readonly code: string | null
  readonly request: string | null
}

/** Signs in a new owner without an identity verification. */
export async function signInNewcomer(service: TestService): Promise<SignedInOwner> {
  const username = `newcomer-${randomBytes(4).toString('hex')}`
  const { naming } = service.settings
  const { id } = await addOwner(
    { ...service.operator, naming, now: Date.now },
    { username, displayName: 'A newcomer' },
  )
  return signIn(service, id)
}

export async function beginIdentity(
  owner: SignedInOwner,
  provider: string,
  body = {},
): Promise<BegunIdentity> {
  const answer = await owner.post(`/api/identity/${provider}/begin`, body)
  assert.equal(answer.status, 200, answer.text)
  const { redirect, client } = jsonOf<VerificationBegun>(answer)
  assert.equal(client, null)
  const browser = new UserAgent(owner.cookie)
  browser.take(answer.headers)
  return { browser, redirect: redirect as string }
}

/** Signs in at a development provider. @returns the callback URL on the service */
export async function logInAtProvider(
  service: TestService,
  { browser, redirect }: BegunIdentity,
  name: string,
): Promise<URL> {
  const isBack = (url: URL) => url.origin === service.url
  const login = await browser.visit(redirect)
  assert.equal(login.status, 200, login.text)
  const back = await browser.submit(login, { name }, isBack)
  assert.equal(back.url.origin, service.url, back.text)
  return back.url
}

/** Requests the callback URL and returns the result of the verification. */
export async function comeBack(browser: UserAgent, url: URL): Promise<Outcome> {
  const response = await browser.request(url)
  assert.equal(response.status, 303, await response.text())
  const { pathname, searchParams } = new URL(response.headers.get('location') as string, url)
  assert.equal(pathname, '/dashboard/identity')
  const of = (name: string) => searchParams.get(name)
  return {
    verified: of('verified'),
    failed: of('failed'),
    code: of('code'),
    request: of('request'),
  }
}

/** Verifies an owner with a development provider under a name, from start to callback. */
export async function verifyIdentity(
  service: TestService,
  owner: SignedInOwner,
  provider: string,
  name: string,
): Promise<Outcome> {
  const begun = await beginIdentity(owner, provider)
  return comeBack(begun.browser, await logInAtProvider(service, begun, name))
}
