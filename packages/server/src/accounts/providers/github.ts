import { createHash, randomBytes } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Env } from '../../base/config.ts'
import { baseAddress, DEFAULT_RUNTIME, fetchJson, type ProviderRuntime } from './http-json.ts'
import {
  type CompletionInput,
  type IdentityProvider,
  type ProviderCheck,
  ProviderFailure,
  ProviderRefusal,
} from './provider.ts'
import { resolveSecret, secretReference } from './secret-reference.ts'
import {
  idField,
  labelField,
  signInField,
  validForDaysField,
  validityMs,
} from './settings-fields.ts'

/** An OAuth app, or a GitHub App, at GitHub or at a GitHub Enterprise Server. */
export const githubSettings = () =>
  Type.Object(
    {
      id: idField(),
      type: Type.Literal('github'),
      label: Type.Optional(labelField()),
      signIn: Type.Optional(signInField()),
      validForDays: Type.Optional(validForDaysField()),
      clientId: Type.String({ pattern: '^[A-Za-z0-9._-]{1,128}$', description: 'a client id' }),
      clientSecret: secretReference(),
      webAddress: Type.Optional(baseAddress('https://github.com')),
      apiAddress: Type.Optional(baseAddress('https://api.github.com')),
    },
    { additionalProperties: false },
  )

type GithubSettings = Static<ReturnType<typeof githubSettings>>

interface Github {
  readonly web: string
  readonly api: string
  readonly clientId: string
  readonly clientSecret: string
  readonly timeLimitMs: number
}

interface State {
  readonly state: string
  readonly verifier: string
}

/**
 * A GitHub account, by OAuth 2 with PKCE and without any scope. The subject is the numeric id of the public profile,
 * because logins can change. GitHub issues no ID token, so the id comes from its API.
 * @throws SecretError if the client secret cannot be read
 */
export function githubProvider(
  settings: GithubSettings,
  env: Env,
  { timeLimitMs, now }: ProviderRuntime = DEFAULT_RUNTIME,
): IdentityProvider {
  const github: Github = {
    web: settings.webAddress ?? 'https://github.com',
    api: settings.apiAddress ?? 'https://api.github.com',
    clientId: settings.clientId,
    clientSecret: resolveSecret(settings.clientSecret, env),
    timeLimitMs,
  }
  return {
    id: settings.id,
    label: settings.label ?? 'GitHub',
    kind: 'social',
    for: 'person',
    assurance: 'low',
    unique: true,
    verifiesName: false,
    proves: 'That you control a GitHub account that has not verified another owner here.',
    validForMs: validityMs(settings.validForDays),
    signIn: settings.signIn ?? false,
    selfService: true,
    async begin({ callbackUrl }) {
      const state: State = { state: random(), verifier: random() }
      return { redirect: authorizeUrl(github, callbackUrl, state), state }
    },
    async complete({ callbackUrl }, input, state) {
      const { verifier } = state as State
      const code = codeOf(input, state as State)
      const token = await exchangeCode(github, { code, verifier, callbackUrl })
      try {
        const subject = await fetchUserId(github, token)
        return { subject, issuer: github.web, assurance: 'low', verifiedAt: new Date(now()) }
      } finally {
        await revokeToken(github, token)
      }
    },
    check: async () => [await checkCredentials(github), await checkApi(github)],
  }
}

const random = () => randomBytes(32).toString('base64url')

function authorizeUrl({ web, clientId }: Github, callbackUrl: string, begun: State): string {
  const url = new URL(`${web}/login/oauth/authorize`)
  url.search = new URLSearchParams({
    client_id: clientId,
    redirect_uri: callbackUrl,
    state: begun.state,
    code_challenge: createHash('sha256').update(begun.verifier).digest('base64url'),
    code_challenge_method: 'S256',
  }).toString()
  return url.href
}

/** Reads the callback. Checks the state first, because without it the rest is not trustworthy. */
function codeOf({ url }: CompletionInput, { state }: State): string {
  const query = url?.searchParams ?? new URLSearchParams()
  if (query.getAll('state').length !== 1 || query.get('state') !== state)
    throw new ProviderRefusal(
      'The response from GitHub does not belong to a request from here. Start again.',
      {
        reason: 'flow-expired',
      },
    )
  const error = query.get('error')
  if (error === 'access_denied')
    throw new ProviderRefusal('You did not authorize it at GitHub. Nothing was verified.', {
      reason: 'declined',
    })
  if (error !== null)
    throw new ProviderFailure(`GitHub refuses this service: ${safeErrorCode(error)}.`)
  const code = query.get('code')
  if (code) return code
  throw new ProviderRefusal('GitHub sent no response. Start again.', {
    reason: 'invalid-response',
  })
}

const tokenResponse = Type.Object({
  access_token: Type.String({ pattern: '^[\\x21-\\x7e]{1,512}$' }),
  token_type: Type.String({ pattern: '^[Bb]earer$' }),
})
const errorResponse = Type.Object({ error: Type.String() })

/** This endpoint reports errors with status 200. */
async function exchangeCode(
  github: Github,
  { code, verifier, callbackUrl }: { code: string; verifier: string; callbackUrl: string },
): Promise<string> {
  const { body } = await requestToken(github, {
    code,
    redirect_uri: callbackUrl,
    code_verifier: verifier,
  })
  if (Value.Check(errorResponse, body)) throw tokenError(body.error)
  if (Value.Check(tokenResponse, body)) return body.access_token
  throw new ProviderFailure('GitHub answered without a token.')
}

function requestToken(github: Github, parameters: Readonly<Record<string, string>>) {
  return fetchJson(`${github.web}/login/oauth/access_token`, {
    method: 'POST',
    form: {
      client_id: github.clientId,
      client_secret: github.clientSecret,
      ...parameters,
    },
    timeLimitMs: github.timeLimitMs,
  })
}

function tokenError(error: string): Error {
  if (error === 'bad_verification_code')
    return new ProviderRefusal('The response from GitHub was used or has expired. Start again.', {
      reason: 'used',
    })
  if (error === 'unverified_user_email')
    return new ProviderRefusal('Confirm your primary e-mail address at GitHub, then start again.', {
      reason: 'email-unconfirmed',
    })
  return new ProviderFailure(`GitHub refuses this service: ${safeErrorCode(error)}.`)
}

const userResponse = Type.Object({
  id: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
})

async function fetchUserId(github: Github, token: string): Promise<string> {
  const { status, body } = await callApi(github, 'GET', '/user', `Bearer ${token}`)
  if (status === 200 && Value.Check(userResponse, body)) return String(body.id)
  throw new ProviderFailure(`GitHub does not return your account (status ${status}).`)
}

/** Best effort: the token is stored nowhere and grants access to the public profile only. */
async function revokeToken(github: Github, token: string): Promise<void> {
  const credentials = Buffer.from(`${github.clientId}:${github.clientSecret}`).toString('base64')
  const path = `/applications/${github.clientId}/token`
  await callApi(github, 'DELETE', path, `Basic ${credentials}`, { access_token: token }).catch(
    () => undefined,
  )
}

function callApi(
  { api, timeLimitMs }: Github,
  method: 'GET' | 'DELETE',
  path: string,
  authorization?: string,
  json?: unknown,
) {
  return fetchJson(`${api}${path}`, {
    method,
    headers: {
      accept: 'application/vnd.github+json',
      'x-github-api-version': '2022-11-28',
      ...(authorization !== undefined && { authorization }),
    },
    ...(json !== undefined && { json }),
    timeLimitMs,
  })
}

/** GitHub checks the client credentials before the code, so an invalid code shows whether they are right. */
async function checkCredentials(github: Github): Promise<ProviderCheck> {
  const name = 'client credentials'
  try {
    const { status, body } = await requestToken(github, { code: random() })
    const error = Value.Check(errorResponse, body) ? safeErrorCode(body.error) : `status ${status}`
    if (error === 'bad_verification_code') return { name, ok: true, detail: 'accepted' }
    return { name, ok: false, detail: `not accepted: ${error}` }
  } catch (error) {
    return { name, ok: false, detail: (error as Error).message }
  }
}

async function checkApi(github: Github): Promise<ProviderCheck> {
  const name = 'API'
  try {
    // Without a token GitHub responds 401, which shows that the API is reachable.
    const { status } = await callApi(github, 'GET', '/user')
    return { name, ok: status === 401, detail: `${github.api} answers with status ${status}` }
  } catch (error) {
    return { name, ok: false, detail: (error as Error).message }
  }
}

/** Passes GitHub's error codes into messages, and no other text. */
const safeErrorCode = (code: string) => (/^[a-z_]{1,64}$/.test(code) ? code : 'unknown error')
