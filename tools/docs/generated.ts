import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { dashboardJson } from '../grafana/dashboard.ts'
import { deploySection } from './deploy-section.ts'
import { withPart } from './marked-part.ts'
import { sdkReference } from './sdk-section.ts'
import { settingsTable } from './settings-section.ts'

/** A page with a part that is made of something else. */
export interface Generated {
  readonly file: string
  /** @returns the page, with that part made anew */
  write(root: string, page: string): string
}

/** Every such page but docs/channels.md, which tools/channel-docs.ts writes. */
export const GENERATED: readonly Generated[] = [
  { file: 'deploy/grafana/countersign.json', write: dashboardJson },
  {
    file: 'docs/gateways.md',
    write: (root, page) => withPart(page, 'deploy', deploySection(root)),
  },
  { file: 'docs/sdk.md', write: (root, page) => withPart(page, 'sdk', sdkReference(root)) },
  {
    file: 'docs/operating.md',
    write: (root, page) =>
      withPart(page, 'settings', settingsTable(readFileSync(join(root, 'README.md'), 'utf8'))),
  },
]
