import { type Naming, WEBHOOK_EVENT_TYPES, WEBHOOK_TEST_TYPE } from '@countersign/protocol'
import type { RecordedExamples } from './examples/examples.ts'

const string = (description: string) => ({ type: 'string', description })

const object = (properties: Readonly<Record<string, object>>, title: string) => ({
  title,
  type: 'object',
  required: Object.keys(properties),
  properties,
})

/** What the service sends to the endpoints of owners (Standard Webhooks; docs/webhooks.md). */
export function webhookOperations(naming: Naming, examples: RecordedExamples) {
  const endpoint = string('the id of your endpoint: compare it')
  const type = (values: readonly string[]) => ({ type: 'string', enum: values })
  const timestamp = { type: 'string', format: 'date-time', description: 'when it happened' }
  const data = object(
    {
      endpoint,
      seq: { type: 'integer', description: 'the number of the event; numbers grow, with gaps' },
      [naming.didField]: string('the DID of the agent'),
      url: { type: 'string', format: 'uri', description: 'where to read what is true now' },
    },
    'AgentEventData',
  )
  const test = object({ endpoint }, 'TestEventData')
  const about = (types: readonly string[]) =>
    examples.deliveries.find(({ body }) => types.includes((body as { type: string }).type))
  const operation = (
    operationId: string,
    summary: string,
    title: string,
    types: readonly string[],
    payload: object,
  ) => {
    const delivered = about(types)
    return {
      post: {
        operationId,
        summary,
        tags: ['owner'],
        security: [],
        parameters: SIGNED_HEADERS.map(([name, description]) => ({
          in: 'header',
          name,
          required: true,
          description,
          schema: { type: 'string' },
          example: delivered?.headers[name],
        })),
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: object({ type: type(types), timestamp, data: payload }, title),
              example: delivered?.body,
            },
          },
        },
        responses: {
          '2XX': { description: 'Received' },
          '410': { description: 'The endpoint is gone: the service disables it' },
        },
      },
    }
  }
  return {
    agentEvent: operation(
      'receiveAgentEvent',
      'Something happened to one of your agents',
      'AgentEvent',
      WEBHOOK_EVENT_TYPES,
      data,
    ),
    test: operation('receiveTest', 'You have sent a test', 'TestEvent', [WEBHOOK_TEST_TYPE], test),
    securityEventToken: {
      post: {
        operationId: 'receiveSecurityEventToken',
        summary:
          'The same as a Security Event Token, for endpoints with the format `set` (RFC 8935)',
        tags: ['owner'],
        security: [],
        requestBody: {
          required: true,
          content: {
            'application/secevent+jwt': {
              schema: string('a JWS of the type secevent+jwt, signed by the keys of jwks_uri'),
              example: 'eyJhbGciOiJFZERTQSIsInR5cCI6InNlY2V2ZW50K2p3dCJ9.…',
            },
          },
        },
        responses: {
          '202': { description: 'Received' },
          '400': { description: 'Refused: `{"err": "invalid_audience"}`' },
          '410': { description: 'The endpoint is gone: the service disables it' },
        },
      },
    },
  }
}

const SIGNED_HEADERS = [
  ['webhook-id', 'the same for each attempt: ignore what you have received before'],
  ['webhook-timestamp', 'when it was sent, in Unix seconds: refuse what is older than 5 minutes'],
  [
    'webhook-signature',
    'separated by spaces: `v1,` (HMAC-SHA256) and `v1a,` (Ed25519) over id, timestamp and body, joined by dots',
  ],
] as const
