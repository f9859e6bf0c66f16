//! The list of claims: the one source for tests, the doctor's table and the documentation.

use std::fmt;

use futures::future::BoxFuture;

use super::scratch::Scratch;
use super::{
    ClaimResult, capabilities, contexts, edits, errors, folders, links, listings, paths, ranges,
    reads, removals, transfers, versions, writes,
};
use crate::capabilities::{Atomicity, Guarding};
use crate::fs::FileSystem;

/// One sentence of the contract, executable.
#[derive(Clone, Copy)]
pub struct Claim {
    /// Its name, a sentence: `w3_content_is_stored_verbatim`.
    pub name: &'static str,
    /// What it needs beyond a file system; it is skipped otherwise.
    pub needs: &'static [Need],
    pub(super) run: Run,
}

pub(super) type Run = for<'a> fn(&'a dyn FileSystem, &'a Scratch) -> BoxFuture<'a, ClaimResult>;

impl Claim {
    /// Returns the contract's id, such as `W3`; `trait` for a sentence of the trait's own
    /// documentation.
    pub fn id(&self) -> String {
        match self.split().0 {
            "trait" => "trait".to_owned(),
            id => id[..1].to_uppercase() + &id[1..],
        }
    }

    /// Returns the sentence.
    pub fn sentence(&self) -> String {
        self.split().1.replace('_', " ")
    }

    fn split(&self) -> (&'static str, &'static str) {
        self.name.split_once('_').unwrap_or(("trait", self.name))
    }
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Claim").field(&self.name).finish()
    }
}

/// What a claim needs beyond a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Need {
    /// Mutations are offered.
    Writable,
    /// Mutations are not offered.
    ReadOnly,
    /// Content can be put, by mutations or from outside.
    Content,
    /// Folders are real.
    Hierarchy,
    /// Folders are prefixes.
    Flat,
    /// `Expected::Absent` holds.
    Create,
    /// `Expected::Version` holds.
    Swap,
    /// `edit` is offered.
    Edit,
    /// `remove` takes a guard.
    GuardedRemove,
    /// `rename` is offered.
    Rename,
    /// `copy` is offered.
    Copy,
    /// Symbolic links exist.
    Links,
    /// Permission bits exist.
    Modes,
    /// Somebody is outside.
    Outside,
    /// The whole file system may be played with.
    Whole,
    /// Several threads run the calls.
    Threads,
    /// Files are bounded by few bytes.
    Bounded,
}

/// The largest bound that a claim fills to see what happens then.
const FEW_BYTES: u64 = 16 << 20;

impl Need {
    /// Returns whether it is met.
    pub fn is_met(self, fs: &dyn FileSystem, scratch: &Scratch) -> bool {
        let can = fs.capabilities(None);
        let outside = scratch.outside().is_some();
        match self {
            Self::Writable => can.writable,
            Self::ReadOnly => !can.writable,
            Self::Content => can.writable || outside,
            Self::Hierarchy => can.hierarchy,
            Self::Flat => !can.hierarchy,
            Self::Create => can.writable && can.create != Guarding::None,
            Self::Swap => can.writable && can.compare_and_swap != Guarding::None,
            Self::Edit => can.writable && can.edit,
            Self::GuardedRemove => can.writable && can.guarded_remove != Guarding::None,
            Self::Rename => can.writable && can.rename != Atomicity::Unsupported,
            Self::Copy => can.writable && can.copy != Atomicity::Unsupported,
            Self::Links => can.links,
            Self::Modes => can.modes,
            Self::Outside => outside,
            Self::Whole => scratch.is_whole(),
            Self::Threads => super::concurrency::many_threads(),
            Self::Bounded => can.max_file_bytes.is_some_and(|most| most <= FEW_BYTES),
        }
    }

    /// Says why a claim that needs it is skipped.
    pub const fn why_not(self) -> &'static str {
        match self {
            Self::Writable => "no mutation is offered",
            Self::ReadOnly => "mutations are offered",
            Self::Content => "nothing can be put: no mutation is offered, and nobody is outside",
            Self::Hierarchy => "folders are prefixes",
            Self::Flat => "folders are real",
            Self::Create => "the guard for absence is not offered (`create`)",
            Self::Swap => "the guard for a version is not offered (`compare_and_swap`)",
            Self::Edit => "edits are not offered (`edit`)",
            Self::GuardedRemove => "a guarded remove is not offered (`guarded_remove`)",
            Self::Rename => "rename is not offered",
            Self::Copy => "copy is not offered",
            Self::Links => "there are no symbolic links",
            Self::Modes => "there are no permission bits",
            Self::Outside => "nobody acts from outside",
            Self::Whole => "the root is not ours to play with",
            Self::Threads => "the calls run on one thread",
            Self::Bounded => "files are not bounded by few bytes",
        }
    }
}

/// Hands the list of claims to a macro: the one source of names and needs.
#[doc(hidden)]
#[macro_export]
macro_rules! __each_claim {
    ([$($callback:tt)*] [$($argument:tt)*]) => {
        $($callback)*! {
            $($argument)*
            paths {
                p1_a_blank_path_is_refused [];
                p1_characters_that_no_backend_keeps_are_refused [];
                p1_a_name_has_at_most_255_bytes [Content];
                p1_a_path_has_at_most_1024_bytes [];
                p1_a_deep_path_round_trips [Content];
                p1_odd_names_round_trip [Content];
                p2_relative_paths_start_at_the_working_folder [Content];
                p2_a_display_path_leads_back_to_its_target [];
                p2_display_paths_lie_under_the_display_root [];
                p2_paths_that_leave_the_root_are_denied [];
                p2_dots_within_the_root_are_resolved [Content];
                p2b_a_trailing_slash_names_a_folder [Content];
                p3_a_missing_target_keeps_its_key_across_creation [Writable Create];
                p4_a_path_through_a_file_is_not_directory [Content Hierarchy];
                p4_a_folder_replaced_by_a_file_is_not_directory [Writable Hierarchy];
                p4_a_file_and_files_beneath_it_both_stay_reachable [Writable Flat];
                p5_spellings_of_one_file_share_their_key [Content];
                p6_keys_are_opaque_distinct_and_serialise [];
                p2_a_url_of_this_workspace_is_decoded_and_a_plain_path_never_is [];
            }
            versions {
                v1_a_touched_file_is_not_stale [Writable Swap Outside Edit];
                v1_an_identical_rewrite_is_not_stale [Writable Swap Edit];
                v1_bytes_that_came_back_are_not_stale [Writable Swap Edit];
                v1_a_file_made_anew_with_the_same_bytes_is_not_stale [Writable Swap];
                v2_other_bytes_of_the_same_size_are_stale [Writable Swap Edit];
                v2_a_change_with_restored_times_is_stale [Writable Swap Outside Edit];
                v2_a_change_from_outside_is_stale [Writable Swap Outside Edit];
                v3_the_version_of_a_mutation_guards_the_next [Writable Swap Edit];
                v3_the_version_of_a_mutation_names_what_the_next_read_delivers [Writable Edit];
                v3_the_version_of_a_rename_guards_its_destination [Writable Swap Rename Create Edit];
                v3_the_version_of_a_copy_guards_its_destination [Writable Swap Copy Create Edit];
                v4_versions_from_every_source_guard [Writable Swap Edit];
                v4_old_versions_from_stat_and_list_are_stale [Writable Swap Edit];
                v4_versions_survive_being_written_down [Writable Swap Edit];
                v4_versions_survive_a_reopening [Writable Swap Outside Edit];
                v5_the_version_of_a_racing_write_names_its_own_bytes [Writable];
                p6_equal_versions_mean_equal_bytes [Writable];
            }
            reads {
                r1_a_missing_file_is_not_found [Content];
                r1_a_folder_is_no_regular_file [Content Hierarchy];
                r1_metadata_says_kind_and_size [Content];
                r1_the_root_is_a_folder [Writable Hierarchy Whole];
                w4_the_root_is_never_changed [Writable Hierarchy Whole Edit];
                r3_the_cap_on_a_read_is_inclusive [Content];
                r4_a_body_arrives_whole_and_in_pieces_that_are_not_empty [Content];
                r4_the_version_of_a_read_is_of_the_bytes_delivered [Content];
                r4_a_read_that_overlaps_writes_delivers_one_of_the_files [Writable];
            }
            ranges {
                r3_a_range_delivers_exactly_its_bytes [Content];
                r3_a_range_is_cut_at_the_end_of_the_file [Content];
                r3_an_empty_range_delivers_nothing [Content];
                r4_a_version_that_comes_with_a_range_is_the_whole_files [Content];
                r4_a_range_of_changed_bytes_never_comes_with_the_version_before [Writable];
            }
            listings {
                r5_children_come_in_byte_order_of_their_names [Content];
                r5_only_direct_children_are_listed_and_each_once [Content];
                r5_a_listing_of_many_children_is_complete [Content];
                r5_entries_say_kind_and_size [Content];
                r5_an_empty_folder_lists_nothing [Writable Hierarchy];
                r5_a_missing_folder_is_not_found [Content];
                r5_a_file_is_not_directory [Content];
                r5_a_child_that_vanishes_does_not_lose_the_rest [Writable];
                p2c_names_that_no_path_can_spell_are_listed_escaped [Content Outside];
            }
            writes {
                w1_absent_refuses_an_existing_file [Create];
                w1_absent_creates_what_is_missing [Create];
                w1_of_racing_creators_exactly_one_wins [Create];
                w2_any_creates_and_replaces [Writable];
                w2_a_version_replaces_only_its_own_bytes [Swap];
                w2_a_version_on_a_missing_file_is_stale [Swap Edit];
                w2_a_version_of_other_bytes_is_stale_whoever_minted_it [Swap];
                w2_bytes_attached_to_a_stale_error_are_the_ones_there [Swap];
                w3_content_is_stored_verbatim [Writable];
                w3_missing_folders_are_created [Create];
                w4_a_folder_is_no_regular_file_whatever_the_guard [Swap Hierarchy Edit];
                w6_nothing_of_ours_is_listed_beside_the_file [Swap Create Edit];
                w7_the_bytes_before_come_back_for_text [Writable];
                w7_no_bytes_before_where_a_side_is_no_text_or_over_the_limit [Writable];
                w8_of_mutations_with_one_version_exactly_one_wins [Swap];
                w8_counting_through_version_guards_loses_nothing [Swap Edit];
                w8_unguarded_edits_at_once_lose_nothing [Writable Edit];
                w9_more_than_fits_is_refused_and_the_old_bytes_stay [Swap Create Bounded Edit];
            }
            edits {
                e1_the_guard_is_checked_before_matching [Swap Edit];
                e1_the_guard_is_checked_before_decoding [Swap Edit];
                e1_an_edit_under_the_version_seen_lands [Swap Edit];
                e2_a_missing_target_is_not_found_or_stale [Swap Edit];
                e2_no_edit_can_meet_the_guard_for_absence [Writable Edit];
                e3_a_miss_and_an_ambiguity_have_their_codes_and_change_nothing [Writable Edit];
                e3_what_a_transform_says_reaches_the_caller [Writable Edit];
                e4_arguments_mean_themselves [Writable Edit];
                e4_replacements_go_left_to_right_without_overlap [Writable Edit];
                e5_line_feeds_match_crlf_which_stays [Writable Edit];
                e5_a_crlf_is_never_split [Writable Edit];
                e5_every_byte_outside_the_splices_is_identical [Writable Edit];
                e6_bom_endings_and_a_missing_final_newline_survive [Writable Edit];
                e7_an_edit_that_changes_no_byte_writes_nothing [Swap Edit];
                r2_an_edit_of_what_is_no_text_is_refused [Writable Edit];
                r2_characters_that_fall_between_pieces_are_edited [Writable Edit];
                r3_the_cap_on_an_edit_is_inclusive [Writable Edit];
                e1_the_transform_sees_the_present_bytes_and_their_version [Writable Edit];
                e1_a_stale_edit_never_runs_its_transform [Swap Edit];
                w2_an_unguarded_edit_that_lost_its_race_runs_again [Writable Outside Threads Edit];
                w2_a_guarded_edit_that_lost_its_race_is_stale [Swap Outside Threads Edit];
                v1_a_guarded_edit_of_a_file_touched_meanwhile_lands [Swap Outside Threads Edit];
                e2_an_edit_of_a_file_removed_meanwhile_creates_nothing [Swap Outside Threads Edit];
            }
            removals {
                trait_remove_takes_one_file_and_nothing_else [Writable];
                trait_remove_of_nothing_is_not_found [Writable];
                trait_remove_takes_only_the_bytes_of_its_guard [GuardedRemove];
                trait_remove_refuses_the_guard_for_absence [Writable];
                trait_remove_takes_an_empty_folder_and_no_other [GuardedRemove Hierarchy];
            }
            transfers {
                trait_rename_moves_the_bytes [Rename Create];
                trait_copy_copies_the_bytes [Copy Create];
                trait_rename_replaces_nothing_unless_asked [Rename Create];
                trait_copy_replaces_nothing_unless_asked [Copy Create];
                trait_rename_replaces_what_it_was_asked_to [Rename];
                trait_copy_replaces_what_it_was_asked_to [Copy];
                trait_rename_guards_its_destination [Rename Swap];
                trait_copy_guards_its_destination [Copy Swap];
                trait_rename_guards_its_source [Rename GuardedRemove Create];
                trait_copy_guards_its_source [Copy Create];
                trait_rename_without_a_source_is_not_found [Rename];
                trait_copy_without_a_source_is_not_found [Copy];
                trait_rename_onto_itself_changes_nothing [Rename];
                trait_copy_onto_itself_changes_nothing [Copy];
                trait_rename_of_a_file_never_replaces_a_folder [Rename Hierarchy Create];
                trait_copy_of_a_file_never_replaces_a_folder [Copy Hierarchy Create];
                trait_of_racing_renames_to_one_name_exactly_one_wins [Rename Create];
                trait_of_racing_copies_to_one_name_exactly_one_wins [Copy Create];
                trait_rename_moves_a_folder_with_everything_in_it [Rename Hierarchy Create];
                trait_rename_refuses_a_folder_moved_into_itself [Rename Hierarchy Create];
                trait_copy_refuses_a_folder [Copy Hierarchy Create];
                trait_renames_there_and_back_never_wait_in_a_ring [Rename];
            }
            folders {
                trait_create_dir_makes_the_missing_folders_above [Writable Hierarchy];
                trait_create_dir_of_an_existing_folder_is_a_success [Writable Hierarchy];
                trait_create_dir_refuses_a_file [Writable Hierarchy];
                trait_racing_creators_of_a_folder_all_succeed [Writable Hierarchy];
            }
            contexts {
                w6_a_withdrawn_mutation_is_aborted_and_changes_nothing [Writable];
                w6_a_mutation_past_its_deadline_changes_nothing [Writable];
                trait_a_withdrawn_look_is_aborted [Content];
                trait_waiting_ends_at_the_deadline_as_busy [Writable Threads Edit];
                w6_a_call_withdrawn_while_it_waits_changes_nothing [Writable Threads Edit];
                w6_a_call_dropped_while_it_waits_changes_nothing_and_holds_up_nobody [Writable Threads Edit];
                w6_an_edit_withdrawn_while_it_plans_changes_nothing [Writable Edit];
                trait_mutations_take_effect_in_the_order_in_which_they_came [Writable Threads Edit];
                trait_files_do_not_wait_for_each_other [Writable Threads Edit];
            }
            errors {
                trait_errors_name_the_operation_and_the_path [Create];
                p2_no_message_shows_more_than_the_display_root [Create];
                trait_what_is_not_offered_is_unsupported_before_any_effect [Writable];
                w9_a_read_only_file_system_refuses_every_mutation [ReadOnly Content];
            }
            capabilities {
                trait_capabilities_are_data_and_the_same_at_the_root [];
                trait_case_sensitivity_is_as_stated [Content];
                trait_permission_bits_are_there_as_stated [Content];
            }
            links {
                p5_a_link_shares_the_key_of_its_file [Content Outside Links];
                p3_a_missing_target_beneath_a_link_keeps_its_key [Writable Outside Links];
                r1_a_link_that_leads_outside_is_denied [Content Outside Links];
                r1_a_dangling_link_within_is_not_found [Writable Outside Links];
                r1_a_special_file_is_never_opened [Writable Outside];
                r5_links_and_special_files_are_listed_as_what_they_are [Content Outside Links];
                trait_lstat_follows_no_link [Writable Outside Links];
                trait_a_link_swapped_in_is_an_error_and_never_another_file [Writable Outside Links];
                w5_a_link_is_written_through_and_stays_a_link [Writable Outside Links];
                w5_permission_bits_of_a_file_are_kept [Writable Outside Modes Copy];
                w5_a_file_without_a_write_bit_is_read_only [Writable Outside Modes];
            }
        }
    };
}

macro_rules! define_claims {
    ($($module:ident { $($name:ident [$($need:ident)*];)+ })+) => {
        /// Returns every claim, in the order of the contract.
        pub fn claims() -> Vec<Claim> {
            vec![$($(
                Claim {
                    name: stringify!($name),
                    needs: &[$(Need::$need),*],
                    run: |fs, scratch| Box::pin($module::$name(fs, scratch)),
                },
            )+)+]
        }
    };
}

crate::__each_claim!([define_claims] []);

/// Makes one `#[test]` of every claim of the [conformance kit](mod@crate::conformance).
///
/// The argument is an async closure that makes the file system under test, anew for each test: it
/// returns a [`FileSystem`], or a [`Subject`](crate::conformance::Subject) with hands outside and
/// things to keep alive.
#[macro_export]
macro_rules! conformance {
    ($make:expr) => {
        $crate::__each_claim!([$crate::__test_each_claim] [$make;]);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __test_each_claim {
    ($make:expr; $($module:ident { $($name:ident [$($need:ident)*];)+ })+) => {
        $($(
            #[test]
            fn $name() {
                $crate::conformance::test(stringify!($name), $make);
            }
        )+)+
    };
}
