//! Broken doubles: each breaks the contract in one point, and names the claims that catch it.
//!
//! A claim that no double breaks proves nothing; a test over a real file system holds that each
//! claim has one, and that each double is caught.

mod bytes;
mod context;
mod errors;
mod fault;
mod guards;
mod identity;
mod listings;
mod metadata;
mod order;
mod transfers;
mod versions;

pub use fault::{Broken, Fault, Inner};

use std::fmt;

use crate::error::{ErrorCode, Operation};

/// A fault, how to make it, and the claims that catch it.
#[derive(Clone, Copy)]
pub struct Double {
    /// What it does wrong.
    pub name: &'static str,
    /// Makes the fault.
    pub make: fn() -> Box<dyn Fault>,
    /// The names of the claims that fail on it, of those that it was made for.
    pub caught_by: &'static [&'static str],
}

impl fmt::Debug for Double {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Double")
            .field("name", &self.name)
            .field("caught_by", &self.caught_by)
            .finish_non_exhaustive()
    }
}

macro_rules! doubles {
    ($($name:literal: $fault:expr => $($claim:ident)+;)+) => {
        /// Returns every broken double.
        pub fn doubles() -> Vec<Double> {
            vec![$(
                Double {
                    name: $name,
                    make: || Box::new($fault),
                    caught_by: &[$(stringify!($claim)),+],
                },
            )+]
        }
    };
}

use self::bytes::*;
use self::context::*;
use self::errors::*;
use self::guards::*;
use self::identity::*;
use self::listings::*;
use self::metadata::*;
use self::order::*;
use self::transfers::*;
use self::versions::*;
use ErrorCode as Code;
use Operation as Op;

doubles! {
    // Guards.
    "ignores the guard of a write": IgnoresGuard(Op::Write)
        => w1_absent_refuses_an_existing_file w2_a_version_replaces_only_its_own_bytes
           w2_a_version_on_a_missing_file_is_stale
           w2_a_version_of_other_bytes_is_stale_whoever_minted_it
           w2_bytes_attached_to_a_stale_error_are_the_ones_there
           w8_of_mutations_with_one_version_exactly_one_wins
           w8_counting_through_version_guards_loses_nothing
           v2_other_bytes_of_the_same_size_are_stale v2_a_change_from_outside_is_stale
           w1_of_racing_creators_exactly_one_wins;
    "ignores the guard of an edit": IgnoresGuard(Op::Edit)
        => e1_the_guard_is_checked_before_matching e1_the_guard_is_checked_before_decoding
           e1_a_stale_edit_never_runs_its_transform v4_old_versions_from_stat_and_list_are_stale
           v4_versions_survive_being_written_down v4_versions_survive_a_reopening
           w2_a_guarded_edit_that_lost_its_race_is_stale e2_a_missing_target_is_not_found_or_stale;
    "ignores the guard of a removal": IgnoresGuard(Op::Remove)
        => trait_remove_takes_only_the_bytes_of_its_guard
           trait_remove_takes_an_empty_folder_and_no_other
           trait_remove_refuses_the_guard_for_absence;
    "ignores the guards of a rename": IgnoresGuard(Op::Rename)
        => trait_rename_replaces_nothing_unless_asked trait_rename_guards_its_destination
           trait_rename_guards_its_source
           trait_of_racing_renames_to_one_name_exactly_one_wins;
    "ignores the guards of a copy": IgnoresGuard(Op::Copy)
        => trait_copy_replaces_nothing_unless_asked trait_copy_guards_its_destination
           trait_copy_guards_its_source
           trait_of_racing_copies_to_one_name_exactly_one_wins;
    "takes a guard for absence as any": AbsentIsAny
        => e2_no_edit_can_meet_the_guard_for_absence w1_absent_refuses_an_existing_file;
    "compares timestamps": ComparesTimes
        => v1_a_touched_file_is_not_stale v1_an_identical_rewrite_is_not_stale
           v1_bytes_that_came_back_are_not_stale
           v1_a_file_made_anew_with_the_same_bytes_is_not_stale
           v2_a_change_with_restored_times_is_stale;
    "looks first and then acts": LooksThenActs
        => w1_of_racing_creators_exactly_one_wins
           w8_of_mutations_with_one_version_exactly_one_wins
           w8_counting_through_version_guards_loses_nothing;
    "loses a racing update": LosesRaces
        => w8_unguarded_edits_at_once_lose_nothing w2_a_guarded_edit_that_lost_its_race_is_stale
           e2_an_edit_of_a_file_removed_meanwhile_creates_nothing;
    "has no lock": HasNoLock
        => w8_counting_through_version_guards_loses_nothing
           w8_unguarded_edits_at_once_lose_nothing;
    "gives up when it loses a race": GivesUpRaces
        => w2_an_unguarded_edit_that_lost_its_race_runs_again;
    "takes a touch for a change": TakesTouchesForChanges
        => v1_a_guarded_edit_of_a_file_touched_meanwhile_lands;
    "matches before it checks the guard": MatchesFirst
        => e1_the_guard_is_checked_before_matching e1_the_guard_is_checked_before_decoding
           e1_a_stale_edit_never_runs_its_transform;
    // Versions.
    "forgets the version after a write": ForgetsVersion(Op::Write)
        => v3_the_version_of_a_mutation_guards_the_next
           v3_the_version_of_a_mutation_names_what_the_next_read_delivers;
    "forgets the version after an edit": ForgetsVersion(Op::Edit)
        => v3_the_version_of_a_mutation_guards_the_next;
    "forgets the version after a rename": ForgetsVersion(Op::Rename)
        => v3_the_version_of_a_rename_guards_its_destination;
    "forgets the version after a copy": ForgetsVersion(Op::Copy)
        => v3_the_version_of_a_copy_guards_its_destination;
    "hands out a version of other bytes": VersionOfOtherBytes
        => r4_the_version_of_a_read_is_of_the_bytes_delivered
           e1_an_edit_under_the_version_seen_lands
           v3_the_version_of_a_mutation_names_what_the_next_read_delivers;
    "makes versions of sizes": VersionsBySize => p6_equal_versions_mean_equal_bytes;
    "looks for the version after the write": VersionAfterwards
        => v5_the_version_of_a_racing_write_names_its_own_bytes;
    "guesses versions in stat": GuessesVersions => v4_versions_from_every_source_guard;
    "makes a version of a range": VersionsOfRanges
        => r4_a_version_that_comes_with_a_range_is_the_whole_files;
    "names ranges by the version first seen": RangesByFirstVersion::default()
        => r4_a_range_of_changed_bytes_never_comes_with_the_version_before;
    // Bytes.
    "rewrites line endings": RewritesEndings
        => w3_content_is_stored_verbatim e5_line_feeds_match_crlf_which_stays
           e5_every_byte_outside_the_splices_is_identical
           e6_bom_endings_and_a_missing_final_newline_survive;
    "drops a byte order mark": DropsBom
        => w3_content_is_stored_verbatim e6_bom_endings_and_a_missing_final_newline_survive;
    "matches within a CRLF": MatchesWithinCrlf => e5_a_crlf_is_never_split;
    "expands dollars": ExpandsDollars => e4_arguments_mean_themselves;
    "applies the first splice alone": AppliesOneSplice
        => e4_replacements_go_left_to_right_without_overlap
           e5_every_byte_outside_the_splices_is_identical;
    "decodes what is no text": DecodesAnything => r2_an_edit_of_what_is_no_text_is_refused;
    "decodes piece by piece": DecodesPieces
        => r2_characters_that_fall_between_pieces_are_edited;
    "serves the first read for ever": ServesCachedReads::default()
        => e1_the_transform_sees_the_present_bytes_and_their_version
           r4_the_version_of_a_read_is_of_the_bytes_delivered;
    "writes in two steps": WritesInTwoSteps
        => r4_a_read_that_overlaps_writes_delivers_one_of_the_files;
    "writes what does not change": WritesNoChange
        => e7_an_edit_that_changes_no_byte_writes_nothing;
    "keeps what fits": KeepsWhatFits => w9_more_than_fits_is_refused_and_the_old_bytes_stay;
    "forgets the bytes before": ForgetsBefore => w7_the_bytes_before_come_back_for_text;
    "always gives the bytes before": AlwaysBefore
        => w7_no_bytes_before_where_a_side_is_no_text_or_over_the_limit;
    "never says that it created": NeverCreated
        => w1_absent_creates_what_is_missing w2_any_creates_and_replaces;
    "needs the folder to be there": NeedsFolder
        => w3_missing_folders_are_created p1_a_deep_path_round_trips
           trait_create_dir_makes_the_missing_folders_above;
    "leaks a staging file": LeaksStaging => w6_nothing_of_ours_is_listed_beside_the_file;
    "takes caps as exclusive": ExclusiveCaps
        => r3_the_cap_on_a_read_is_inclusive r3_the_cap_on_an_edit_is_inclusive;
    "ignores ranges": IgnoresRanges
        => r3_a_range_delivers_exactly_its_bytes r3_an_empty_range_delivers_nothing;
    "refuses a range past the end": RefusesPastEnd => r3_a_range_is_cut_at_the_end_of_the_file;
    "delivers empty pieces": EmptyPieces
        => r4_a_body_arrives_whole_and_in_pieces_that_are_not_empty;
    // Paths and identity.
    "cleans paths up": CleansPaths
        => p1_a_blank_path_is_refused p1_characters_that_no_backend_keeps_are_refused
           p1_a_name_has_at_most_255_bytes p1_a_path_has_at_most_1024_bytes
           p2b_a_trailing_slash_names_a_folder;
    "trims names": TrimsNames => p1_odd_names_round_trip;
    "folds case": FoldsCase => trait_case_sensitivity_is_as_stated;
    "decodes percent signs in plain paths": DecodesPercent
        => p2_a_url_of_this_workspace_is_decoded_and_a_plain_path_never_is
           p6_keys_are_opaque_distinct_and_serialise p1_odd_names_round_trip;
    "clamps at the root": ClampsAtRoot => p2_paths_that_leave_the_root_are_denied;
    "refuses dots": RefusesDots
        => p2_dots_within_the_root_are_resolved p5_spellings_of_one_file_share_their_key;
    "keys by spelling": KeysBySpelling
        => p5_spellings_of_one_file_share_their_key p2_dots_within_the_root_are_resolved;
    "keys by existence": KeysByExistence => p3_a_missing_target_keeps_its_key_across_creation;
    "ignores the working folder": IgnoresCwd => p2_relative_paths_start_at_the_working_folder;
    "shows relative paths": ShowsRelative
        => p2_a_display_path_leads_back_to_its_target p2_display_paths_lie_under_the_display_root;
    "shows paths of the host": ShowsHost => p2_display_paths_lie_under_the_display_root;
    "lets a file eat what lies beneath": EatsChildren
        => p4_a_file_and_files_beneath_it_both_stay_reachable;
    "never follows the last link": NeverFollows
        => p5_a_link_shares_the_key_of_its_file w5_a_link_is_written_through_and_stays_a_link;
    "keys by text where there are links": LexicalKeys
        => p3_a_missing_target_beneath_a_link_keeps_its_key p5_a_link_shares_the_key_of_its_file;
    "follows an escaping link": FollowsEscapingLinks => r1_a_link_that_leads_outside_is_denied;
    "resolves again at each use": ResolvesAgain
        => trait_a_link_swapped_in_is_an_error_and_never_another_file;
    // Metadata and listings.
    "says that everything is empty": SaysEmpty
        => r1_metadata_says_kind_and_size r5_entries_say_kind_and_size;
    "takes everything for a file": TakesAllForFiles
        => r1_metadata_says_kind_and_size trait_lstat_follows_no_link
           r5_links_and_special_files_are_listed_as_what_they_are;
    "promises permission bits": PromisesModes => trait_permission_bits_are_there_as_stated;
    "denies the edits that it makes": DeniesEdits
        => trait_what_is_not_offered_is_unsupported_before_any_effect;
    "denies the guards that it keeps": DeniesGuards
        => trait_what_is_not_offered_is_unsupported_before_any_effect;
    "has other capabilities at the root": TwoMinds
        => trait_capabilities_are_data_and_the_same_at_the_root;
    "loses permission bits": LosesModes => w5_permission_bits_of_a_file_are_kept;
    "sorts folders with their slash": SortsWithSlash
        => r5_children_come_in_byte_order_of_their_names;
    "lists what lies deeper": ListsDeep => r5_only_direct_children_are_listed_and_each_once;
    "lists the first page": ListsFirstPage => r5_a_listing_of_many_children_is_complete;
    "lists the folder itself": ListsItself => r5_an_empty_folder_lists_nothing;
    "lists nothing for nothing": ListsNothing => r5_a_missing_folder_is_not_found;
    "fails a whole listing for one entry": FailsListings
        => r5_a_child_that_vanishes_does_not_lose_the_rest;
    "hides odd names": HidesOddNames => p2c_names_that_no_path_can_spell_are_listed_escaped;
    // Removals, transfers, folders.
    "removes what begins alike": RemovesAlike => trait_remove_takes_one_file_and_nothing_else;
    "removes nothing with success": RemovesNothing => trait_remove_of_nothing_is_not_found;
    "removes whole trees": RemovesTrees => trait_remove_takes_an_empty_folder_and_no_other;
    "leaves the source of a rename": LeavesSource => trait_rename_moves_the_bytes;
    "takes the source of a copy": TakesSource => trait_copy_copies_the_bytes;
    "never replaces": NeverReplaces
        => trait_rename_replaces_what_it_was_asked_to trait_copy_replaces_what_it_was_asked_to;
    "empties a file moved onto itself": EmptiesItself
        => trait_rename_onto_itself_changes_nothing trait_copy_onto_itself_changes_nothing;
    "replaces folders": ReplacesFolders
        => trait_rename_of_a_file_never_replaces_a_folder
           trait_copy_of_a_file_never_replaces_a_folder;
    "moves a folder without its depth": MovesShallow
        => trait_rename_moves_a_folder_with_everything_in_it;
    "copies a folder as an empty one": CopiesFolders => trait_copy_refuses_a_folder;
    "waits in a ring": WaitsInRing::default() => trait_renames_there_and_back_never_wait_in_a_ring;
    "creates a folder once": CreatesOnce
        => trait_create_dir_of_an_existing_folder_is_a_success
           trait_racing_creators_of_a_folder_all_succeed;
    "takes a file for a folder": TakesFileForFolder => trait_create_dir_refuses_a_file;
    // Contexts and order.
    "ignores the context": IgnoresContext
        => w6_a_withdrawn_mutation_is_aborted_and_changes_nothing
           w6_a_mutation_past_its_deadline_changes_nothing trait_a_withdrawn_look_is_aborted
           w6_a_call_withdrawn_while_it_waits_changes_nothing
           w6_an_edit_withdrawn_while_it_plans_changes_nothing;
    "goes on after its future was dropped": GoesOn
        => w6_a_call_dropped_while_it_waits_changes_nothing_and_holds_up_nobody;
    "serves the last comer first": LastComerFirst::default()
        => trait_mutations_take_effect_in_the_order_in_which_they_came;
    "locks everything for one file": LocksEverything::default() => trait_files_do_not_wait_for_each_other;
    // Errors.
    "forgets where it failed": Nameless => trait_errors_name_the_operation_and_the_path;
    "shows the host in its messages": ShowsHostInMessages
        => p2_no_message_shows_more_than_the_display_root;
    "forgets what a transform said": ForgetsWords
        => e3_what_a_transform_says_reaches_the_caller
           e3_a_miss_and_an_ambiguity_have_their_codes_and_change_nothing;
    "attaches other bytes": AttachesOtherBytes
        => w2_bytes_attached_to_a_stale_error_are_the_ones_there;
    "answers not-found for not-directory": Recode(None, Code::NotDirectory, Code::NotFound)
        => p4_a_path_through_a_file_is_not_directory r5_a_file_is_not_directory
           p4_a_folder_replaced_by_a_file_is_not_directory;
    "answers an IO error for nothing": Recode(Some(Op::Read), Code::NotFound, Code::IoError)
        => r1_a_missing_file_is_not_found r1_a_dangling_link_within_is_not_found;
    "answers not-found for a folder": Recode(None, Code::NotRegularFile, Code::NotFound)
        => r1_a_folder_is_no_regular_file r1_the_root_is_a_folder w4_the_root_is_never_changed
           w4_a_folder_is_no_regular_file_whatever_the_guard r1_a_special_file_is_never_opened;
    "answers denied for read-only": Recode(None, Code::ReadOnly, Code::PermissionDenied)
        => w5_a_file_without_a_write_bit_is_read_only;
    "answers a time-out for busy": Recode(None, Code::Busy, Code::Timeout)
        => trait_waiting_ends_at_the_deadline_as_busy;
    "answers an IO error for unsupported": Recode(None, Code::Unsupported, Code::IoError)
        => trait_what_is_not_offered_is_unsupported_before_any_effect
           w9_a_read_only_file_system_refuses_every_mutation;
    "answers an IO error for a missing source": Recode(None, Code::NotFound, Code::IoError)
        => trait_rename_without_a_source_is_not_found trait_copy_without_a_source_is_not_found;
    "answers an IO error for an argument": Recode(None, Code::InvalidArgument, Code::IoError)
        => trait_rename_refuses_a_folder_moved_into_itself
           e2_no_edit_can_meet_the_guard_for_absence;
}
