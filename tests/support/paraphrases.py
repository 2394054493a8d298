"""Sentences and other sentences that say the same in different words, written for the tests of alignment."""

from __future__ import annotations

__all__ = ["PARAPHRASES"]

PARAPHRASES: tuple[tuple[str, str], ...] = (
    (
        "The tenant stopped paying rent because the landlord did not repair the leaking roof.",
        "Since the owner left the roof unrepaired and water came in, the lessee withheld her rent.",
    ),
    (
        "The driver was speeding when his car hit the cyclist at the crossing.",
        "At the intersection the bicycle rider was struck by a vehicle that was going too fast.",
    ),
    (
        "The employee was dismissed without notice after she reported the safety violations.",
        "Having told the authorities about unsafe conditions, the worker was fired on the spot.",
    ),
    (
        "The contract was void because one of the parties was a minor when it was signed.",
        "As one signatory had not yet come of age, the agreement had no legal effect.",
    ),
    (
        "The witness said that he had seen the defendant leave the bank shortly before noon.",
        "According to the testimony, the accused walked out of the bank just before twelve o'clock.",
    ),
    (
        "The court held that the police needed a warrant to search the mobile phone.",
        "Officers may not look through a cell phone without judicial authorisation, the judges ruled.",
    ),
    (
        "The seller must replace defective goods within thirty days of the complaint.",
        "If the merchandise is faulty, the vendor has a month from the complaint to exchange it.",
    ),
    (
        "The company concealed its debts from investors before the public offering.",
        "Prior to listing its shares, the firm hid from shareholders how much money it owed.",
    ),
    (
        "The doctor failed to tell the patient about the risks of the operation.",
        "The patient was not informed by her surgeon of the dangers of the procedure.",
    ),
    (
        "The patent claims a container that keeps food cold without electricity.",
        "The invention is a box which cools groceries and needs no electric power.",
    ),
    (
        "The will was invalid because nobody had witnessed the signature.",
        "No witness was present when the testament was signed, so it could not be enforced.",
    ),
    (
        "The city refused to issue a building permit for the tower.",
        "Permission to construct the high-rise was denied by the municipality.",
    ),
    (
        "The jury found the accused guilty of murder after two days of deliberation.",
        "Following two days of discussion, the jurors convicted the defendant of homicide.",
    ),
    (
        "The newspaper published private photographs of the actress without her consent.",
        "Without asking the film star for permission, the paper printed intimate pictures of her.",
    ),
    (
        "The insurance company denied the claim because the policy had expired.",
        "As coverage had already lapsed, the insurer would not pay for the loss.",
    ),
    (
        "A party that breaks the agreement must pay for the damage it causes.",
        "Whoever is in breach of the contract is liable for the resulting loss.",
    ),
    (
        "The appeal was filed too late and is therefore dismissed.",
        "Because the deadline had passed when it was lodged, the appeal is rejected.",
    ),
    (
        "The school may not punish pupils for what they write at home about politics.",
        "Students cannot be disciplined by their school for political statements made outside of it.",
    ),
    (
        "The mother was awarded custody of both children after the divorce.",
        "When the marriage was dissolved, the court decided that the two children should live with their mother.",
    ),
    (
        "The software may be copied and changed freely as long as the author is named.",
        "Anybody may duplicate and modify the program, provided that its creator is credited.",
    ),
    (
        "The factory released poisonous waste into the river for many years.",
        "Over decades, toxic effluent from the plant was discharged into the stream.",
    ),
    (
        "The bank raised the interest rate of the loan without informing its customers.",
        "Borrowers were not told when the lender increased what they had to pay on their credit.",
    ),
    (
        "The engine stopped because there was no oil left in it.",
        "For want of lubricant, the motor broke down.",
    ),
    (
        "The judge should have left the case to a colleague, since the plaintiff is her brother.",
        "As the claimant is a sibling of the judge, she ought to have recused herself.",
    ),
    (
        "The prisoner was kept alone in a cell for more than a year.",
        "For over twelve months the inmate was held in solitary confinement.",
    ),
    (
        "The airline must compensate passengers whose flights are delayed by more than three hours.",
        "Travellers who arrive over three hours late are entitled to a payment from the carrier.",
    ),
    (
        "The neighbour's dog bit the child while it was playing in the garden.",
        "A boy at play in the yard was bitten by the dog from next door.",
    ),
    (
        "The minister resigned after it became known that he had accepted bribes.",
        "When his corruption was revealed, the member of the government stepped down.",
    ),
    (
        "The museum returned the stolen painting to the heirs of its former owner.",
        "The looted picture was given back by the gallery to the family from whom it had been taken.",
    ),
    (
        "The voters were turned away because they had no identity cards.",
        "Citizens without identification papers were not allowed to cast their ballots.",
    ),
    (
        "The sensor warns the owner when water enters the building.",
        "If the house is leaking, the detector alerts its proprietor.",
    ),
    (
        "The ship sank in the storm, and its cargo was lost.",
        "All the freight was lost when the vessel went down in bad weather.",
    ),
    (
        "The university rejected the applicant although she had passed all examinations.",
        "Despite having succeeded in every test, the candidate was not admitted to the college.",
    ),
    (
        "The father did not pay maintenance for his daughter for three years.",
        "For three years the girl received no child support from her father.",
    ),
    (
        "Smoking is prohibited in all rooms of the hotel.",
        "Guests are not allowed to light cigarettes anywhere inside the hotel.",
    ),
    (
        "The inspector found mould in the kitchen of the restaurant.",
        "During the inspection, fungus was discovered where the restaurant prepares its food.",
    ),
    (
        "The directors knew that the company could not pay its creditors.",
        "It was clear to the board that the firm was insolvent.",
    ),
    (
        "The tax authority demanded a payment that the law does not provide for.",
        "There was no legal basis for the sum that the revenue office claimed.",
    ),
    (
        "The medicine must be stored in a refrigerator until it is used.",
        "Before use, keep the drug cold.",
    ),
    (
        "The bridge collapsed because the builder had used weak concrete.",
        "Poor cement chosen by the contractor caused the bridge to fall down.",
    ),
    (
        "The police stopped the man only because of the colour of his skin.",
        "It was solely for his race that officers detained him.",
    ),
    (
        "The publisher printed the novel without paying the author.",
        "The writer received no money for the book that the publishing house brought out.",
    ),
    (
        "The committee rejected the proposal by a large majority.",
        "Most members of the panel voted against the plan.",
    ),
    (
        "The guard fell asleep, and the thieves carried the jewels away.",
        "While the watchman slept, the burglars stole the gems.",
    ),
    (
        "The lease ends automatically if the rent is not paid for two months.",
        "Two unpaid monthly rents terminate the tenancy without further action.",
    ),
    (
        "The train was late because of snow on the tracks.",
        "Snowfall on the rails delayed the train.",
    ),
    (
        "The hospital lost the results of the blood test.",
        "The clinic could no longer find what the analysis of the patient's blood had shown.",
    ),
    (
        "A person who finds a wallet must hand it over to the police.",
        "Lost purses have to be delivered to the police by whoever finds them.",
    ),
    (
        "The valve closes when the pressure in the pipe becomes too high.",
        "Excessive pressure in the tube makes the valve shut.",
    ),
    (
        "The farmer sold his land in order to pay his debts.",
        "To settle what he owed, the peasant parted with his fields.",
    ),
    (
        "The translation of the treaty contains several serious mistakes.",
        "There are grave errors in the translated version of the treaty.",
    ),
    (
        "The players went on strike for higher wages.",
        "Demanding better pay, the team refused to play.",
    ),
    (
        "The law forbids employers to ask applicants about their religion.",
        "When hiring, companies may not enquire into a candidate's faith.",
    ),
    (
        "The windows were so small that little light entered the flat.",
        "Tiny windows left the apartment rather dark.",
    ),
    (
        "The accountant transferred the money of her clients to her own account.",
        "The bookkeeper embezzled her customers' funds.",
    ),
    (
        "The fire started in the kitchen and spread to the whole house.",
        "Flames that broke out near the stove soon engulfed the entire building.",
    ),
    (
        "The expert could not say with certainty who had written the letter.",
        "It remained unclear to the specialist who the author of the letter was.",
    ),
    (
        "The parties agreed to settle their dispute out of court.",
        "Both sides decided to end the quarrel without a trial.",
    ),
    (
        "The pilot had drunk alcohol before the flight.",
        "Before take-off, the captain of the aircraft had consumed liquor.",
    ),
    (
        "The shop sold cigarettes to children under sixteen.",
        "Minors below the age of sixteen were able to buy tobacco there.",
    ),
    (
        "The government promised to lower the taxes of poor families.",
        "Households with little income will pay less tax, the cabinet announced.",
    ),
    (
        "The battery can be charged by sunlight within four hours.",
        "Solar energy fills the accumulator in four hours.",
    ),
    (
        "The defendant did not appear in court although he had been summoned.",
        "In spite of the summons, the accused failed to come to the hearing.",
    ),
    (
        "The machine cuts the paper and folds it in a single step.",
        "In one operation, sheets are trimmed and folded by the device.",
    ),
)
