import { Type } from 'typebox'
import { publicRead } from '../../core/http/public-read.ts'
import type { App } from '../../core/http/server.ts'
import { type DocsSide, once } from './docs-side.ts'
import { llmsText, skillName, skillOf, skillsIndex } from './skill.ts'

const SHORTLY = 'public, max-age=300'

/** What agents that are driven by a model read: the same words as the documentation. */
export function skillRoutes(app: App, { library }: DocsSide): void {
  const { naming } = library.names
  const skill = once(() => skillOf(library))
  const text = (
    url: string,
    type: 'text/markdown' | 'text/plain',
    about: { operationId: string; summary: string },
    content: () => string,
  ) =>
    publicRead(app, naming, {
      url,
      cacheControl: SHORTLY,
      schema: {
        ...about,
        tags: ['learn'],
        response: {
          200: { description: about.summary, content: { [type]: { schema: Type.String() } } },
        },
      },
      handler: async (_params: unknown, reply) => {
        reply.type(`${type}; charset=utf-8`).serializer(String)
        return content()
      },
    })

  const summary = 'How an agent gets its identity here and uses it: a skill, in Markdown'
  text('/skill.md', 'text/markdown', { operationId: 'skill', summary }, () => skill().text)
  text(
    `/.well-known/agent-skills/${skillName(library.names)}/SKILL.md`,
    'text/markdown',
    { operationId: 'wellKnownSkill', summary: 'The same, where the index says it is' },
    () => skill().text,
  )
  const llms = { operationId: 'llms', summary: 'What there is to read here, as links to Markdown' }
  text('/llms.txt', 'text/plain', llms, () => llmsText(library))
  publicRead(app, naming, {
    url: '/.well-known/agent-skills/index.json',
    cacheControl: SHORTLY,
    schema: {
      operationId: 'skillsIndex',
      summary: 'The skills that this service publishes (Agent Skills Discovery 0.2.0)',
      tags: ['learn'],
      response: { 200: indexSchema() },
    },
    handler: async () => skillsIndex(skill()),
  })
}

const indexSchema = () =>
  Type.Object(
    {
      $schema: Type.String(),
      skills: Type.Array(
        Type.Object({
          name: Type.String({ description: '1 to 64 characters out of a-z, 0-9 and -' }),
          type: Type.Literal('skill-md'),
          description: Type.String({ maxLength: 1024 }),
          url: Type.String({ description: 'relative to this address' }),
          digest: Type.String({
            description: 'sha256: and the SHA-256 of the skill, in hexadecimal',
          }),
        }),
      ),
    },
    { description: 'The index' },
  )
