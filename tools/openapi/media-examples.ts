import type { RecordedExamples } from './examples/examples.ts'
import { STAND_IN } from './stand-ins.ts'

/**
 * The example of a body: what the service was seen to answer, or an excerpt of what is built, drawn or streamed. Undefined for
 * pictures and archives.
 */
export function mediaExample(
  examples: RecordedExamples,
  operationId: string,
  status: string,
  type: string,
): unknown {
  const body = examples.response(operationId, status, type)?.body
  if (body === undefined) return UNRECORDED[operationId] ?? EXCERPTS[type]
  // A line of it is described, not the whole.
  if (type === 'application/x-ndjson') return JSON.parse(String(body).split('\n')[0] ?? '')
  return body
}

const EXCERPTS: Readonly<Record<string, string>> = {
  'text/html': '<!doctype html><title>…</title>',
  'text/markdown': '# …',
  'text/plain': '…',
  'text/x.tlog.size': '120\n',
  'text/event-stream': 'event: change\ndata: {"n":1}\n\n',
}

/** Of the build, whose hashes change with it; and of what only some deployments have. */
const UNRECORDED: Readonly<Record<string, unknown>> = {
  packages: {
    packages: [
      {
        file: 'countersign-sdk-0.1.0.tgz',
        version: '0.1.0',
        size: 98_304,
        sha512: '0123456789abcdef'.repeat(8),
      },
    ],
  },
  witness: {
    name: `${new URL(STAND_IN.baseUrl).host}/witness/1`,
    verifierKey: `${new URL(STAND_IN.baseUrl).host}/witness/1+3f9c1b2e+BNdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea`,
    url: `${STAND_IN.baseUrl}/witness`,
    logs: [{ origin: 'log.example/log/1', size: 120 }],
  },
  skillsIndex: {
    $schema: 'https://schemas.agentskills.io/discovery/0.2.0/schema.json',
    skills: [
      {
        name: `${STAND_IN.shortName}-agent-identity`,
        type: 'skill-md',
        description: 'Get and prove a verifiable identity as an agent.',
        url: `/.well-known/agent-skills/${STAND_IN.shortName}-agent-identity/SKILL.md`,
        digest: `sha256:${'0123456789abcdef'.repeat(4)}`,
      },
    ],
  },
}
