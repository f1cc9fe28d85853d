import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import {
  type Answer,
  type Received,
  startLoopbackServer,
} from '../../../http/outbound/support/loopback-server.ts'

export const CLIENT_ID = 'Iv1.8a61f9b3a7aba766'
export const CLIENT_SECRET = 'c1ient-5ecret-0f-the-app'

/**
 * GitHub as documented in "Authorizing OAuth apps", "Troubleshooting OAuth app access token request
 * errors" and the REST API for OAuth applications. `answers` overrides the response of a path.
 */
export async function startGithub(t: { after(end: () => unknown): void }) {
  const codes = new Map<string, { challenge: string; redirectUri: string }>()
  const tokens = new Set<string>()
  const secrets = [CLIENT_SECRET]
  const answers = new Map<string, Answer>()
  const server = await startLoopbackServer(t, (request) => {
    const other = answers.get(`${request.method} ${request.path}`)
    if (other !== undefined) return other
    switch (`${request.method} ${request.path}`) {
      case 'POST /login/oauth/access_token':
        return accessToken(request)
      case 'GET /user':
        return user(request)
      case `DELETE /applications/${CLIENT_ID}/token`:
        return deleteToken(request)
    }
    return { status: 404, body: { message: 'Not Found' } }
  })

  function accessToken({ body }: Received): Answer {
    const form = new URLSearchParams(body)
    const error = (code: string, description: string) => ({
      status: 200,
      body: { error: code, error_description: description },
    })
    if (form.get('client_id') !== CLIENT_ID || form.get('client_secret') !== CLIENT_SECRET)
      return error('incorrect_client_credentials', 'The client_id and/or client_secret are wrong.')
    const code = form.get('code') ?? ''
    const granted = codes.get(code)
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (granted === undefined || granted.challenge !== challenge)
      return error('bad_verification_code', 'The code passed is incorrect or expired.')
    if (granted.redirectUri !== form.get('redirect_uri'))
      return error('redirect_uri_mismatch', 'The redirect_uri MUST match the registered one.')
    codes.delete(code)
    const token = `gho_${randomBytes(18).toString('hex')}`
    tokens.add(token)
    secrets.push(token)
    return { status: 200, body: { access_token: token, scope: '', token_type: 'bearer' } }
  }

  function user({ headers }: Received): Answer {
    if (!tokens.has(headers.authorization?.replace(/^Bearer /, '') ?? ''))
      return { status: 401, body: { message: 'Requires authentication', status: '401' } }
    return { status: 200, body: { login: 'octocat', id: 583231, type: 'User' } }
  }

  function deleteToken({ headers, body }: Received): Answer {
    const basic = Buffer.from(`${CLIENT_ID}:${CLIENT_SECRET}`).toString('base64')
    if (headers.authorization !== `Basic ${basic}`) return { status: 401, body: {} }
    const { access_token } = JSON.parse(body)
    return tokens.delete(access_token) ? { status: 204 } : { status: 422, body: {} }
  }

  return {
    ...server,
    answers,
    /** Tokens that are not revoked. */
    tokens,
    /** The client secret, and every token issued. */
    secrets,
    /** Visits the authorization URL as a browser whose user consents. Returns the callback URL. */
    authorize(redirect: string): URL {
      const url = new URL(redirect)
      assert.equal(url.href.split('?')[0], `${server.url}/login/oauth/authorize`)
      const { searchParams: query } = url
      assert.equal(query.get('client_id'), CLIENT_ID)
      assert.equal(query.get('code_challenge_method'), 'S256')
      assert.equal(query.get('scope'), null)
      const redirectUri = query.get('redirect_uri') ?? ''
      const code = randomBytes(10).toString('hex')
      codes.set(code, { challenge: query.get('code_challenge') ?? '', redirectUri })
      const back = new URL(redirectUri)
      back.search = new URLSearchParams({ code, state: query.get('state') ?? '' }).toString()
      return back
    },
  }
}
