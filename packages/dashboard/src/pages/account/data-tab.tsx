import { organisation } from '../../api/acting-for.ts'
import { get } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { saveFile } from '../../components/save-file.ts'
import { Sheet, SheetSection } from '../../components/sheet.tsx'
import { useAction } from '../../components/use-action.ts'
import { useAccount } from './account-tabs.ts'
import { DeletionSection } from './deletion-section.tsx'

/** The export of the stored data, and the end of the account. */
export function DataTab() {
  return (
    <Sheet>
      <ExportSection />
      <DeletionSection account={useAccount()} />
    </Sheet>
  )
}

/** Downloads the data that the service stores about the owner. */
function ExportSection() {
  const download = useAction(async () => {
    const data = await get<object>('/api/account/export')
    saveFile(
      organisation === null ? 'my-data.json' : `${organisation}-data.json`,
      JSON.stringify(data, null, 2),
      'application/json',
    )
  })
  return (
    <SheetSection
      title={organisation === null ? 'Your data' : 'Data of the organisation'}
      lead={`All data that the service stores about ${organisation === null ? 'you and your' : 'the organisation and its'} agents, as a JSON file without secrets.`}
    >
      <Button size="small" pending={download.pending} onClick={download.run} className="self-start">
        Download data
      </Button>
      <ErrorNote error={download.error} />
    </SheetSection>
  )
}
