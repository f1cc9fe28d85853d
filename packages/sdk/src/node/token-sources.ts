import { readFile } from 'node:fs/promises'
import { readBody } from '@countersign/protocol'
import type { PlatformTokenSource } from '../enrolment/enrol.ts'
import { CountersignError } from '../errors.ts'

const TIMEOUT_MS = 10_000
const MAX_BYTES = 64 * 1024
const GCP_PATH = '/computeMetadata/v1/instance/service-accounts/default/identity'
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/

/**
 * Asks GitHub Actions for the token of a job, whose workflow must have `permissions: id-token: write`.
 * @returns a source for `enrol`. It throws CountersignError NO_PLATFORM_TOKEN
 */
export function githubActionsToken(): PlatformTokenSource {
  return async (audience) => {
    const { ACTIONS_ID_TOKEN_REQUEST_URL: address, ACTIONS_ID_TOKEN_REQUEST_TOKEN: bearer } =
      process.env
    if (!address || !bearer) {
      throw noToken(
        'GitHub Actions offers no token to this job. Add to its workflow: permissions: id-token: write',
      )
    }
    const url = addressOf(address, 'ACTIONS_ID_TOKEN_REQUEST_URL')
    // The bearer token must not cross a network in the clear.
    if (url.protocol !== 'https:' && !LOOPBACK.test(url.hostname))
      throw noToken('ACTIONS_ID_TOKEN_REQUEST_URL is no https address.')
    url.searchParams.set('audience', audience)
    const text = await ask(url, { authorization: `Bearer ${bearer}` }, 'GitHub Actions')
    return valueIn(text)
  }
}

/**
 * Asks the metadata server of Google Cloud for an identity token of the default service account, with the details of the instance
 * (`format=full`). GCE_METADATA_HOST names another metadata server.
 * @returns a source for `enrol`. It throws CountersignError NO_PLATFORM_TOKEN
 */
export function gcpToken(): PlatformTokenSource {
  return async (audience) => {
    const host = process.env.GCE_METADATA_HOST || 'metadata.google.internal'
    const url = addressOf(`http://${host}${GCP_PATH}`, 'GCE_METADATA_HOST')
    url.searchParams.set('audience', audience)
    url.searchParams.set('format', 'full')
    const text = await ask(url, { 'metadata-flavor': 'Google' }, 'The metadata server')
    return text.trim()
  }
}

/**
 * Reads the token from a file, which is read again for each enrolment: a projected volume of Kubernetes, or the file of a SPIFFE helper.
 * The audience of the token is fixed where the file is set up, so the one that is asked for is ignored.
 * @returns a source for `enrol`. It throws CountersignError NO_PLATFORM_TOKEN
 */
export function tokenFile(path: string): PlatformTokenSource {
  return async () => {
    try {
      return (await readFile(path, 'utf8')).trim()
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException
      throw noToken(`The token file ${path} cannot be read (${code}).`, cause)
    }
  }
}

function addressOf(text: string, variable: string): URL {
  if (URL.canParse(text)) return new URL(text)
  throw noToken(`${variable} does not name an address.`)
}

/** Follows no redirect. No message repeats the body: it may be the token. */
async function ask(url: URL, headers: Record<string, string>, who: string): Promise<string> {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  let status: number
  let body: Uint8Array | 'too-large' | null
  try {
    const response = await fetch(url, { headers, redirect: 'manual', signal })
    status = response.status
    body = await readBody(response, MAX_BYTES)
  } catch (cause) {
    throw noToken(`${who} cannot be reached, or does not answer in time.`, cause)
  }
  if (status !== 200) throw noToken(`${who} gives no token: it answers ${status}.`)
  if (body === 'too-large' || body === null) throw noToken(`${who} answers without a token.`)
  return new TextDecoder().decode(body)
}

/** The error of `JSON.parse` would repeat a part of the text, so it is left out. */
function valueIn(text: string): string {
  try {
    const { value } = JSON.parse(text)
    if (typeof value === 'string') return value
  } catch {}
  throw noToken('GitHub Actions answers without a token.')
}

function noToken(message: string, cause?: unknown): CountersignError {
  return new CountersignError('NO_PLATFORM_TOKEN', message, cause === undefined ? {} : { cause })
}
