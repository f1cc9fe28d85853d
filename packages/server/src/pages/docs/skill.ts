import { hash } from 'node:crypto'
import type { Library } from './library.ts'
import type { DeploymentNames } from './names.ts'

/** What an agent that is driven by a model reads to learn how to use this deployment (agentskills.io). */
export interface Skill {
  /** Of lower-case letters, digits and hyphens; the short name tells two deployments apart. */
  readonly name: string
  /** What it does and when to use it, in at most 1,024 characters. */
  readonly description: string
  /** SKILL.md, front matter and all. */
  readonly text: string
}

/** The skill is the quick start for agents, with links that lead somewhere from wherever it is kept. */
export function skillOf(library: Library): Skill {
  const { naming, serviceName, baseUrl } = library.names
  const name = skillName(library.names)
  const description = `Get and use a verifiable identity from ${serviceName} (${baseUrl}): make an Ed25519 key, redeem a claim token for a DID, show the identity card, identify yourself with the ${naming.idHeader} header, and answer challenges safely. Use it when you are given a claim token (${naming.tokenPrefix}…), are asked who you are, for your DID (${naming.didPrefix}…) or to sign a challenge, or meet another agent and want to know who is behind it.`
  const body = withAbsoluteLinks(library.page('agents').markdown, baseUrl)
  // JSON is YAML: a name of a service may have any character in it.
  const front = `---\nname: ${name}\ndescription: ${JSON.stringify(description)}\n---\n`
  return { name, description, text: `${front}\n${body}` }
}

export function skillName({ naming }: DeploymentNames): string {
  return `${naming.shortName}-agent-identity`
}

/** `/.well-known/agent-skills/index.json`, as Agent Skills Discovery 0.2.0 has it. */
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

/** `/llms.txt`, as llmstxt.org has it: what there is to read, for those who read Markdown. */
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
    `> ${serviceName} issues identity certificates to software agents: an owner proves who they are and stands behind their agents, each agent holds an Ed25519 key and gets a DID, and anyone can look it up, challenge it and see its grade.`,
    '',
    `Nothing here needs an account but what owners do. Errors are JSON with a code. Base address: ${baseUrl}`,
    '',
    '## For agents',
    '',
    link(
      'Skill',
      `${baseUrl}/skill.md`,
      'Everything that an agent has to know to get and use its identity.',
    ),
    link('OpenAPI', `${baseUrl}/openapi.json`, 'Every operation, with schemas and error codes.'),
    '',
    ...groups,
  ].join('\n')
}

function link(title: string, url: string, summary: string): string {
  return `- [${title}](${url}): ${summary}`
}

/** `sdk.md#x` is relative to /docs/, where the skill is not. */
function withAbsoluteLinks(markdown: string, baseUrl: string): string {
  return markdown.replaceAll(
    /\]\(([\w-]+\.md)(#[\w-]+)?\)/g,
    (_link, page: string, fragment = '') => `](${baseUrl}/docs/${page}${fragment})`,
  )
}
