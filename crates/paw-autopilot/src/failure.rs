//! How the errors of this crate reach a command. Each is raised, and worded, beside what it is about.

use paw_core::PawError;

use crate::branch::NoBranchName;
use crate::coverage::CoverageError;
use crate::engine::Refused;
use crate::engine::resume::ResumeRefused;
use crate::engine::state::NothingToDo;
use crate::runners::RunError;
use crate::runners::detect::DetectError;

macro_rules! told_as_it_is {
    ($($error:ty),+ $(,)?) => {
        $(impl From<$error> for PawError {
            fn from(error: $error) -> Self {
                Self::TaskError(error.to_string())
            }
        })+
    };
}

told_as_it_is!(CoverageError, DetectError, NoBranchName, NothingToDo, Refused, ResumeRefused, RunError);
