import { PLACEHOLDER } from '../../packages/server/src/pages/docs/deployment-names.ts'
import type { SkillTemplate } from '../../packages/server/src/pages/docs/skill.ts'
import type { Book, BookPage } from './book.ts'
import { withAbsoluteLinks } from './compile-book.ts'

const { shortName, idHeader, serviceName, baseUrl } = PLACEHOLDER

/** The skill, from the quick start for agents, with absolute links. */
export function skillTemplate({ markdown }: BookPage): SkillTemplate {
  return {
    description: `Get and use a verifiable identity from ${serviceName} (${baseUrl}): make an Ed25519 key, redeem a claim token for a DID, show the identity card, identify yourself with the ${idHeader} header, and answer challenges safely. Use it when you are given a claim token (${shortName}-verify-…), are asked who you are, for your DID (${shortName}:agent:…) or to sign a challenge, or meet another agent and want to know who is behind it.`,
    body: withAbsoluteLinks(markdown),
  }
}

/** `/llms.txt` (llmstxt.org): a list of the pages in Markdown. */
export function llmsText({ groups, pages }: Book): string {
  const sections = groups.map((group) => {
    const links = pages
      .filter(({ name }) => group.pages.includes(name))
      .map(({ name, title, summary }) => link(title, `${baseUrl}/docs/${name}.md`, summary))
    return [`## ${group.title}`, '', ...links, ''].join('\n')
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
    ...sections,
  ].join('\n')
}

function link(title: string, url: string, summary: string): string {
  return `- [${title}](${url}): ${summary}`
}
