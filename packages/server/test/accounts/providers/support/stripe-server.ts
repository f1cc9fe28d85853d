import { randomBytes } from 'node:crypto'
import {
  type Answer,
  type Received,
  startLoopbackServer,
} from '../../../http/outbound/support/loopback-server.ts'

export const SECRET_KEY = 'sk_live_51Nu4LkdIwHu7ix0secret'
export const TEST_KEY = 'sk_test_51Nu4LkdIwHu7ix0secret'

interface Session {
  readonly id: string
  readonly object: string
  readonly url: string
  readonly client_secret: string
  readonly livemode: boolean
  client_reference_id: string | null
  metadata: Record<string, string>
  status: string
  last_error: { code: string; reason: string } | null
  redaction: { status: string } | null
}

const SESSIONS = '/v1/identity/verification_sessions'

/**
 * Stripe's `identity/verification_sessions` as in its API reference: create, retrieve, list, redact, and its errors.
 * `answers` overrides the next responses.
 */
export async function startStripe(t: { after(end: () => unknown): void }) {
  const sessions = new Map<string, Session>()
  const created = new Map<string, Session>()
  const forms: URLSearchParams[] = []
  const answers: Answer[] = []
  const server = await startLoopbackServer(t, (request) => {
    const other = answers.shift()
    return other ?? refused(request) ?? routed(request)
  })

  function refused({ headers }: Received): Answer | null {
    const key = headers.authorization?.replace(/^Bearer /, '')
    if (key === SECRET_KEY || key === TEST_KEY) return null
    return error(401, `Invalid API Key provided: ${key?.slice(0, 12)}****cret`)
  }

  function routed(request: Received): Answer {
    const { method, path } = request
    const [id = '', verb] = path.slice(SESSIONS.length + 1).split('/')
    if (path === SESSIONS && method === 'POST') return { status: 200, body: create(request) }
    if (path === SESSIONS && method === 'GET')
      return { status: 200, body: { object: 'list', data: [], has_more: false, url: SESSIONS } }
    const session = sessions.get(id)
    if (session === undefined) return error(404, `No such verificationsession: '${id}'`)
    if (method === 'POST' && verb === 'redact') return redact(session)
    return { status: 200, body: session }
  }

  function create({ headers, body }: Received): Session {
    const key = String(headers['idempotency-key'])
    const before = created.get(key)
    if (before !== undefined) return before
    const form = new URLSearchParams(body)
    forms.push(form)
    const id = `vs_${randomBytes(12).toString('hex')}`
    const session: Session = {
      id,
      object: 'identity.verification_session',
      url: `https://verify.stripe.com/start/live_${id}`,
      client_secret: `${id}_secret_live`,
      livemode: headers.authorization === `Bearer ${SECRET_KEY}`,
      client_reference_id: form.get('client_reference_id'),
      metadata: { owner: form.get('metadata[owner]') ?? '' },
      status: 'requires_input',
      last_error: null,
      redaction: null,
    }
    sessions.set(id, session)
    created.set(key, session)
    return session
  }

  function redact(session: Session): Answer {
    if (session.status === 'processing') return error(400, 'It cannot be redacted now.')
    session.redaction = { status: 'processing' }
    session.metadata = {}
    return { status: 200, body: session }
  }

  return { ...server, sessions, forms, answers }
}

export const error = (status: number, message: string): Answer => ({
  status,
  body: { error: { type: 'invalid_request_error', message } },
})
