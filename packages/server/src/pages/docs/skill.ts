import { hash } from 'node:crypto'
import type { Deployment } from './deployment-names.ts'
import type { Library } from './library.ts'

/** A skill (agentskills.io): instructions for agents that are driven by a model. */
export interface Skill {
  /** Lower-case letters, digits and hyphens. It contains the short name, which distinguishes deployments. */
  readonly name: string
  /** What it does and when to use it, at most 1,024 characters. */
  readonly description: string
  /** The whole SKILL.md, with front matter. */
  readonly text: string
}

/** Builds the skill of this deployment. */
export function skillOf(library: Library): Skill {
  const name = skillName(library.deployment)
  const { description, body }: SkillTemplate = JSON.parse(library.text('skill.json'))
  // JSON strings are valid YAML: the service name may contain any character.
  const front = `---\nname: ${name}\ndescription: ${JSON.stringify(description)}\n---\n`
  return { name, description, text: `${front}\n${body}` }
}

/** What the build writes of the skill. */
export interface SkillTemplate {
  readonly description: string
  /** Markdown without front matter. */
  readonly body: string
}

export function skillName({ naming }: Pick<Deployment, 'naming'>): string {
  return `${naming.shortName}-agent-identity`
}

/** `/.well-known/agent-skills/index.json` (Agent Skills Discovery 0.2.0). */
export function skillsIndex({ name, description, text }: Skill) {
  return {
    $schema: 'https://schemas.agentskills.io/discovery/0.2.0/schema.json',
    skills: [
      {
        name,
        type: 'skill-md' as const,
        description,
        url: `/.well-known/agent-skills/${name}/SKILL.md`,
        digest: `sha256:${hash('sha256', text, 'hex')}`,
      },
    ],
  }
}
