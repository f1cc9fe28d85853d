import { hash } from 'node:crypto'
import type { Library } from './library.ts'
import type { DeploymentNames } from './names.ts'

/** A skill (agentskills.io): instructions for agents that are driven by a model. */
export interface Skill {
  /** Lower-case letters, digits and hyphens. It contains the short name, which distinguishes deployments. */
  readonly name: string
  /** What it does and when to use it, at most 1,024 characters. */
  readonly description: string
  /** The whole SKILL.md, with front matter. */
  readonly text: string
}

/** Builds the skill from the quick start for agents, with absolute links. */
export function skillOf(library: Library): Skill {
  const { naming, serviceName, baseUrl } = library.names
  const name = skillName(library.names)
  const description = `Get and use a verifiable identity from ${serviceName} (${baseUrl}): make an Ed25519 key, redeem a claim token for a DID, show the identity card, identify yourself with the ${naming.idHeader} header, and answer challenges safely. Use it when you are given a claim token (${naming.tokenPrefix}…), are asked who you are, for your DID (${naming.didPrefix}…) or to sign a challenge, or meet another agent and want to know who is behind it.`
  const body = withAbsoluteLinks(library.page('agents').markdown, baseUrl)
  // JSON strings are valid YAML: the service name may contain any character.
  const front = `---\nname: ${name}\ndescription: ${JSON.stringify(description)}\n---\n`
  return { name, description, text: `${front}\n${body}` }
}

export function skillName({ naming }: DeploymentNames): string {
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

/** `/llms.txt` (llmstxt.org): a list of the pages in Markdown. */
export function llmsText(library: Library): string {
  const { serviceName, baseUrl } = library.names
  const groups = library.groups.map(({ title, pages }) => {
    const links = pages.map((name) => {
      const page = library.page(name)
      return link(page.title, `${baseUrl}/docs/${name}.md`, page.summary)
    })
    return [`## ${title}`, '', ...links, ''].join('\n')
  })
  return [
    `# ${serviceName}`,
    '',
    `> ${serviceName} issues identity certificates to software agents: an owner verifies their identity and claims agents, each agent holds an Ed25519 key and gets a DID, and anyone can look it up, challenge it and see its grade.`,
    '',
    `Only the endpoints for owners need an account. Errors are JSON with a code. Base address: ${baseUrl}`,
    '',
    '## For agents',
    '',
    link('Skill', `${baseUrl}/skill.md`, 'How an agent gets and uses its identity.'),
    link('OpenAPI', `${baseUrl}/openapi.json`, 'Every operation, with schemas and error codes.'),
    '',
    ...groups,
  ].join('\n')
}

function link(title: string, url: string, summary: string): string {
  return `- [${title}](${url}): ${summary}`
}

/** Links such as `sdk.md#x` are relative to /docs/, but the skill is served elsewhere. */
function withAbsoluteLinks(markdown: string, baseUrl: string): string {
  return markdown.replaceAll(
    /\]\(([\w-]+\.md)(#[\w-]+)?\)/g,
    (_link, page: string, fragment = '') => `](${baseUrl}/docs/${page}${fragment})`,
  )
}
